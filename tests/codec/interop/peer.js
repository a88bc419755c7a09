// The other end of the wire: writes values with transit-js in both spellings, and tells what it reads.
//
//   node peer.js write              the vectors, as one JSON array of {name, json, verbose, means}
//   node peer.js read < texts.json  for each text of a JSON array what it means, or null when it cannot be read
//
// `means` is a description that Python can make too: [kind, ...] with map entries and set members in order of
// their text. JavaScript has one kind of number, so a float without a fraction is described as an integer is.
"use strict";

const transit = require("transit-js");
const crypto = require("crypto");
const fs = require("fs");

const LONG = 10000; // of what is longer only the spelling with cache codes is kept, and a digest of its meaning

const kw = transit.keyword;
const Long = transit.integer;

function described(value) {
  if (value === null || value === undefined) return ["null"];
  switch (typeof value) {
    case "boolean": return ["bool", value];
    case "string": return ["str", value];
    case "number": return number(value);
  }
  if (transit.isInteger(value)) return ["number", value.toString()];
  if (value instanceof Date) return ["instant", value.getTime()];
  if (transit.isUUID(value)) return ["uuid", value.toString().toLowerCase()];
  if (transit.isKeyword(value)) return ["keyword", name(value)];
  if (transit.isSymbol(value)) return ["symbol", name(value)];
  if (transit.isBinary(value)) return ["bytes", Buffer.from(value).toString("base64")];
  if (Array.isArray(value)) return ["array", value.map(described)];
  if (transit.isSet(value)) return ["set", inOrder(members(value).map(described))];
  if (transit.isMap(value)) return ["map", inOrder(entries(value))];
  if (transit.isTaggedValue(value)) return tagged(value);
  if (value.constructor === Object) return ["map", inOrder(Object.entries(value).map((pair) => pair.map(described)))];
  throw new Error("cannot describe " + value);
}

function number(value) {
  if (!Number.isFinite(value)) return ["number", String(value)];
  if (Number.isInteger(value)) return ["number", BigInt(value).toString()];
  return ["number", value];
}

function name(named) {
  return named.toString().replace(/^:/, "");
}

function members(set) {
  const found = [];
  set.forEach((member) => found.push(member));
  return found;
}

function entries(map) {
  const found = [];
  map.forEach((value, key) => found.push([described(key), described(value)]));
  return found;
}

function inOrder(items) {
  const text = (item) => JSON.stringify(item);
  return items.sort((a, b) => (text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0));
}

function tagged(value) {
  switch (value.tag) {
    case "n": return ["number", BigInt(value.rep).toString()];
    case "f": return ["decimal", value.rep];
    case "r": return ["uri", value.rep];
    case "list": return ["array", value.rep.map(described)];
    default: return ["tagged", value.tag, described(value.rep)];
  }
}

function keywords(count, prefix) {
  return Array.from({ length: count }, (_, i) => kw(prefix + String(i).padStart(4, "0")));
}

function numbered(count) {
  const map = transit.map();
  keywords(count, "key").forEach((key, i) => map.set(key, i));
  return map;
}

function job() {
  const map = transit.map();
  const at = new Date(Date.UTC(2026, 10, 30, 13, 30, 8, 123));
  map.set(kw("id"), transit.uuid("01937d3a-5c1e-7b6a-9f00-0123456789ab"));
  map.set(kw("job-type"), kw("send-email"));
  map.set(kw("queue"), kw("mail"));
  map.set(kw("args"), transit.map(["to", "ann@example.org", kw("state"), kw("paid"), "state", kw("paid")]));
  map.set(kw("status"), kw("pending"));
  map.set(kw("priority"), kw("high"));
  map.set(kw("retry-count"), 1);
  map.set(kw("max-retries"), 5);
  map.set(kw("created-at"), at);
  map.set(kw("updated-at"), at);
  map.set(kw("metadata"), transit.map([kw("tenant-id"), "acme", kw("first-missing-at"), at]));
  map.set(kw("error"), transit.map([kw("type"), kw("timeout"), kw("message"), "too late", kw("state"), null]));
  return map;
}

const vectors = {
  "short keywords take no place": [kw("a"), transit.set([]), kw("a"), kw("abc"), kw("abcd"), kw("abc"), kw("abcd")],
  "short keys take no place": [transit.map(["abc", 1, "abcd", 2]), transit.map(["abc", 3, "abcd", 4])],
  "a string is cached as a key only": ["abcd", transit.map(["abcd", "abcd"]), "abcd", transit.map(["abcd", 1])],
  "keywords as keys and values": [transit.map([kw("state"), kw("state")]), kw("state")],
  "symbols": [transit.symbol("abcd"), transit.symbol("ab"), transit.symbol("abcd"), transit.symbol("ns/sym")],
  "tags are cached": [transit.set([1]), transit.set([2]), transit.list([1]), transit.list([2]), transit.set([3])],
  "1935 keys, some twice": [numbered(1935), numbered(60)],
  "1936 keys, some twice": [numbered(1936), numbered(60)],
  "1937 keys, some twice": [numbered(1937), numbered(60)],
  "2000 keywords, twice": [keywords(2000, "word"), keywords(2000, "word")],
  "more keywords than the writer remembers": [keywords(4100, "w"), keywords(50, "w")],
  "integers": [0, 1, -1, 2 ** 53 - 1, -(2 ** 53 - 1), Long("9007199254740992"), Long("9223372036854775807"),
    Long("-9223372036854775808"), transit.bigInt("9223372036854775808"), transit.bigInt("-1" + "0".repeat(40))],
  "fractions": [0.1, -1.5, 1e21, 1e-7, 5e-324, 1.7976931348623157e308],
  "numbers that JSON lacks": [NaN, Infinity, -Infinity],
  "decimals": [transit.bigDec("0.10"), transit.bigDec("1E+30"), transit.bigDec("-12.345")],
  "strings that need an escape": ["~", "~a", "^", "^0", "^ ", "`", "`a", "~#set", "", "plain", "~~", "a~", "\u0000\n\"\\\u2028", "\u{1F600}é"],
  "keys that need an escape": transit.map(["~a", 1, "^0", 2, "`b", 3, "~#set", 4]),
  "one key that looks like a tag": transit.map(["~#set", [1]]),
  "keys of other kinds": transit.map([2, "two", -7, "seven", true, "yes", null, "nothing", Long("9007199254740993"), "long",
    transit.uuid("01937d3a-5c1e-7b6a-9f00-0123456789ab"), "uuid", new Date(1732973408123), "instant"]),
  "a fraction as a key": transit.map([1.5, "x", "y", 1.5]),
  "numbers that JSON lacks as keys": transit.map([Infinity, 1, -Infinity, 2]),
  "composite keys": transit.map([[1, "two"], 1, transit.set([1]), 2, "abcd", 3, "abcd2", 4]),
  "composite keys, nested": transit.map([[[1], transit.set([[2]])], "x"]),
  "a set of arrays": transit.set([[1, 2], [3]]),
  "instants": [new Date(0), new Date(1732973408123), new Date(-1), new Date(253402300799999), new Date(-62135596800000)],
  "uuids": [transit.uuid("00000000-0000-0000-0000-000000000000"), transit.uuid("ffffffff-ffff-ffff-ffff-ffffffffffff")],
  "bytes": [Buffer.from([]), Buffer.from([0]), Buffer.from([0, 1]), Buffer.from([0, 1, 2, 253, 254, 255])],
  "uris": [transit.uri("https://example.org/?a=~b"), transit.uri("")],
  "empty containers": [[], transit.map(), transit.set([]), transit.list([]), [[]], transit.map(["", []])],
  "booleans and null": [true, false, null],
  "arrays that begin like a tag": [["~#set", [1]], ["^ ", 1], ["~:abcd", 1], [kw("abcd"), 1], [kw("abcd"), [kw("abcd")]]],
  "nested maps": transit.map(["outer", transit.map(["inner", transit.map(["outer", transit.map(["inner", null])])])]),
  "a string at the top": "~top",
  "a number at the top": 42,
  "null at the top": null,
  "a keyword at the top": kw("abcd"),
  "an instant at the top": new Date(1732973408123),
  "an object": { abcd: 1, "~x": [2], ab: { abcd: null } },
  "a job": job(),
};

function write() {
  const json = transit.writer("json");
  const verbose = transit.writer("json-verbose");
  return Object.entries(vectors).map(([name, value]) => {
    const [text, long] = [json.write(value), verbose.write(value)];
    const means = described(value);
    return long.length < LONG ? { name, json: text, verbose: long, means } : { name, json: text, digest: digest(means) };
  });
}

function digest(means) {
  return crypto.createHash("sha256").update(JSON.stringify(means)).digest("hex");
}

function read(texts) {
  const reader = transit.reader("json");
  return texts.map((text) => {
    try {
      return described(reader.read(text));
    } catch (error) {
      return null;
    }
  });
}

const answer = process.argv[2] === "read" ? read(JSON.parse(fs.readFileSync(0, "utf8"))) : write();
process.stdout.write("[\n" + answer.map((line) => JSON.stringify(line)).join(",\n") + "\n]\n");
