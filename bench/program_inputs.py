# The inputs of the real programs: sources in their own languages.
#
# Owns: the texts and the amount of work at scale 1 (one to three seconds under glibc). The argument
# of each script is its number of rounds. Each script prints figures that depend on all its data, so
# a block with two owners changes them. It uses no clock, no addresses and no unseeded random
# numbers: the output must be the same in every run.
#
# SPDX-License-Identifier: MIT

# Compiles generated source, runs it, and churns tables and strings.
LUA = """
local rounds = tonumber(arg[1])
local sum, state = 0, 12345
local function draw(limit)
  state = (state * 1103515245 + 12345) % 2147483648
  return state // 65536 % limit
end
local function tree(depth)
  if depth == 0 then return {value = draw(100)} end
  return {left = tree(depth - 1), right = tree(depth - 1), value = depth}
end
local function count(node)
  if not node.left then return node.value end
  return node.value + count(node.left) + count(node.right)
end
local kept = {}
for round = 1, rounds do
  local lines = {"local t = {}"}
  for at = 1, 300 do
    lines[#lines + 1] = ("t['name%d'] = function(a, b) local c = {a, b, 'x%d'} " ..
      "return #c + a * %d + b end"):format(at, at * round, at)
  end
  lines[#lines + 1] = "return t"
  local functions = assert(load(table.concat(lines, "\\n")))()
  for at = 1, 300 do sum = sum + functions["name" .. at](at, round) end
  kept[round % 8 + 1] = {functions, tree(11)}
  sum = sum + count(kept[round % 8 + 1][2])
  local words = {}
  for at = 1, 4000 do words[at] = ("w"):rep(draw(60)) .. at end
  table.sort(words)
  for at = 1, #words, 7 do sum = (sum * 31 + #words[at] + words[at]:byte(-1)) % 1000000007 end
end
print("sum", sum)
"""

# Dicts, lists, strings and small objects.
PYTHON = """
import sys
class Node:
    __slots__ = ("left", "right", "value")
    def __init__(self, left, right, value):
        self.left, self.right, self.value = left, right, value
def tree(depth, value):
    if depth == 0:
        return Node(None, None, value)
    return Node(tree(depth - 1, value * 2), tree(depth - 1, value * 2 + 1), value)
def total(node):
    return node.value + (total(node.left) + total(node.right) if node.left else 0)
check, kept = 0, []
for turn in range(int(sys.argv[1])):
    table = {}
    for at in range(6000):
        key = "key%d" % (at * 7919 % 5003)
        table.setdefault(key, []).append((at, str(at * turn), [at] * (at % 13)))
    lines = [key + "=" + ",".join(str(one[1]) for one in rows) for key, rows in table.items()]
    lines.sort()
    text = "\\n".join(lines)
    back = dict(line.split("=", 1) for line in text.split("\\n"))
    check = (check * 31 + sum(len(v) for v in back.values()) + total(tree(10, turn))) % (2**61 - 1)
    kept.append((table, text))
    if len(kept) > 5:
        kept.pop(turn * 7 % 5)
    buffer = bytearray()
    for at in range(2000):
        buffer += b"%d;" % (at * turn)
    check = (check * 31 + sum(buffer)) % (2**61 - 1)
print("check", check, len(kept))
"""

# Buffers, zlib, JSON and crypto: the parts of node that use malloc. Its heap maps its own memory.
NODE = """
const crypto = require('crypto'), zlib = require('zlib');
const digest = crypto.createHash('sha256');
const kept = [];
for (let round = 0; round < Number(process.argv[2]); round++) {
  const rows = [];
  for (let at = 0; at < 3000; at++) rows.push({ id: at * round, name: 'row ' + at, tags: [at] });
  const text = JSON.stringify(rows);
  const packed = zlib.gzipSync(text, { level: 1 });
  if (zlib.gunzipSync(packed).toString() !== text) throw new Error('zlib gave other data');
  for (let at = 0; at < 400; at++) {
    const buffer = Buffer.alloc(4096 + (at * 7919 + round * 31) % 60000, at & 255);
    buffer.writeUInt32LE(at, buffer.length - 4);
    kept[(at * 131 + round) % 500] = buffer;
  }
  digest.update(text);
}
for (const buffer of kept) if (buffer) digest.update(buffer);
console.log(digest.digest('hex'));
"""

# Rows at scale 1.
SQL_ROWS = 150_000


def sql_script(scale: float) -> str:
    rows = max(100, round(SQL_ROWS * scale))
    return f"""
PRAGMA cache_size=-200000;
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, size INTEGER, note BLOB);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
INSERT INTO item SELECT i, 'name ' || (i * 7919 % 100003), i * 31 % 977,
  CAST(hex(zeroblob(i % 90)) AS BLOB) FROM n;
COMMIT;
CREATE INDEX by_name ON item(name);
CREATE INDEX by_size ON item(size, name);
SELECT size, count(*), sum(length(note)), min(name) FROM item GROUP BY size ORDER BY 2 DESC LIMIT 5;
SELECT count(*), sum(a.id) FROM item a JOIN item b ON b.name = a.name AND b.id < a.id;
UPDATE item SET name = upper(name) || '!' WHERE size % 3 = 0;
DELETE FROM item WHERE size % 5 = 0;
SELECT count(*), sum(id), sum(length(note)), group_concat(substr(name, -3), '') FROM
  (SELECT * FROM item ORDER BY name, id LIMIT 2000);
SELECT length(group_concat(name, ',')) FROM item;
"""


# Functions at scale 1, each with templates of its own.
CPP_FUNCTIONS = 8


def cpp_source(scale: float) -> str:
    parts = ["#include <algorithm>\n#include <map>\n#include <memory>\n#include <string>\n"
             "#include <vector>\n"]
    for number in range(max(1, round(CPP_FUNCTIONS * scale))):
        parts.append(f"""
struct Key{number} {{
  int value; std::string text;
  bool operator<(const Key{number}& other) const {{ return value < other.value; }}
}};
template <class T> struct Box{number} {{
  std::vector<std::shared_ptr<T>> items;
  T& add(T item) {{ items.push_back(std::make_shared<T>(std::move(item))); return *items.back(); }}
}};
int function{number}(int count) {{
  std::map<Key{number}, std::vector<std::string>> table;
  Box{number}<Key{number}> box;
  for (int at = 0; at < count; ++at) {{
    Key{number} key{{at % {number + 3}, std::to_string(at)}};
    table[box.add(key)].push_back(key.text + "{number}");
  }}
  int sum = 0;
  for (auto& [key, list] : table) {{
    std::sort(list.begin(), list.end());
    for (const auto& text : list) sum += int(text.size()) * key.value;
  }}
  return sum;
}}
""")
    return "".join(parts)
