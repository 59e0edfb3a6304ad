-- SPDX-License-Identifier: MIT
--
-- What a server is like for an app's leases, and what its user may not do. One EVAL, which leaves nothing behind.
--
-- KEYS[1]  sfid:APP      ARGV[1]  names of fields of INFO, separated by spaces
--
-- The answer is an array of strings in pairs: a field of INFO and its value, for each field that exists. For each command of
-- the lease script that failed, it has 'denied COMMAND' and 'command' or 'key', or the server's words. Commands that write are
-- tried on KEYS[1]:trial, which nobody uses: a registration has two bytes there. They are not tried in a cluster where that key
-- may lie elsewhere, nor on a replica; the answer then has the pair 'untried' and 'cluster' or 'replica'.

local answer = {}

local function add(name, value)
  answer[#answer + 1] = name
  answer[#answer + 1] = value
end

-- How servers say that an ACL forbids a command or a key. Other words say what is wrong with the server.
local function why(text)
  for _, words in ipairs({"can't run this", 'ACL failure', 'NOPERM', "can't access"}) do
    if string.find(text, words, 1, true) then
      local key = string.find(text, "can't access", 1, true) or string.find(text, 'to access', 1, true)
      return key and 'key' or 'command'
    end
  end
  return string.match(text, '^@user_script: *%d+: %-?(.*)') or text
end

-- True if the server carried it out.
local function try(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) == 'table' and reply.err then
    local name = command == 'CLUSTER' and command .. '|' .. (...) or command
    add('denied ' .. string.lower(name), string.sub(why(reply.err), 1, 200))
    return false
  end
  return true
end

if redis.replicate_commands then
  redis.replicate_commands()
end

local about = redis.pcall('INFO')
if type(about) == 'table' then
  add('denied info', string.sub(why(about.err), 1, 200))
  about = ''
end
about = '\n' .. about
for name in string.gmatch(ARGV[1], '%S+') do
  local value = string.match(about, '\n' .. name .. ':([^\r\n]*)')
  if value then
    add(name, string.sub(value, 1, 200))
  end
end

local key, trial = KEYS[1], KEYS[1] .. ':trial'
try('TIME')
try('HMGET', key, 'lay')
try('HGET', key, 'lay')
if string.find(about, '_mode:cluster', 1, true) then
  try('CLUSTER', 'NODES')
  try('CLUSTER', 'KEYSLOT', key)
end
if string.find(about, '_mode:cluster', 1, true) and not string.find(key, '^[^{]*{[^}]+}') then
  add('untried', 'cluster')
elseif string.find(about, '\nrole:slave', 1, true) then
  add('untried', 'replica')
else
  try('GET', trial)
  try('SET', trial, '1', 'XX', 'PX', '1000') -- of what is not there
  if try('DEL', trial) and try('HSET', trial, 'a', '1') then
    redis.call('DEL', trial)
  end
end
return answer
