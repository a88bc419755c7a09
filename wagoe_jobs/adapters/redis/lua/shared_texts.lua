-- `text_reader(first)`: a function that gives one text after the other, from ARGV[first] on: one an argument, or as
-- lines of one argument when ARGV[first] says 'lines'. `texts_of(which, next_text)`: payload, result and error, as far
-- as their letters are in `which`.

local function text_reader(first)
  local n, from = first, 1
  local lines = ARGV[first] == 'lines' and ARGV[first + 1]
  return function()
    if not lines then
      n = n + 1
      return ARGV[n]
    end
    local line_end = string.find(lines, '\n', from, true) or #lines + 1
    local text = string.sub(lines, from, line_end - 1)
    from = line_end + 1
    return text
  end
end

local function texts_of(which, next_text)
  local payload = string.find(which, 'p', 1, true) and next_text() or nil
  local result = string.find(which, 'r', 1, true) and next_text() or nil
  local err = string.find(which, 'e', 1, true) and next_text() or nil
  return payload, result, err
end
