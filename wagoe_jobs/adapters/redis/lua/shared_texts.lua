-- `row(text, from)`: where the line behind the one that begins at `from` begins, and five parts of this one: four words
-- and the rest. A pattern with as many captures takes twice as long.
-- `text_reader(first)`: a function that gives one text after the other, from ARGV[first] on: one an argument, or as
-- lines of one argument when ARGV[first] says 'lines'. `texts_of(which, next_text)`: payload, result and error, as far
-- as their letters are in `which`.

local find, sub = string.find, string.sub

local function row(text, from)
  local line_end = find(text, '\n', from, true) or #text + 1
  local a = find(text, ' ', from, true)
  local b = find(text, ' ', a + 1, true)
  local c = find(text, ' ', b + 1, true)
  local d = find(text, ' ', c + 1, true)
  return line_end + 1, sub(text, from, a - 1), sub(text, a + 1, b - 1), sub(text, b + 1, c - 1), sub(text, c + 1, d - 1),
    sub(text, d + 1, line_end - 1)
end

local function text_reader(first)
  local n, from = first, 1
  local lines = ARGV[first] == 'lines' and ARGV[first + 1]
  return function()
    if not lines then
      n = n + 1
      return ARGV[n]
    end
    local line_end = find(lines, '\n', from, true) or #lines + 1
    local text = sub(lines, from, line_end - 1)
    from = line_end + 1
    return text
  end
end

local function texts_of(which, next_text)
  local payload = find(which, 'p', 1, true) and next_text() or nil
  local result = find(which, 'r', 1, true) and next_text() or nil
  local err = find(which, 'e', 1, true) and next_text() or nil
  return payload, result, err
end
