-- SPDX-License-Identifier: MIT
-- The part of Redis that the lease script uses. A server has keys, a save of them, and a name that changes with each start.

local all, this = {}, nil

local function copy(t)
  local r = {}
  for k, v in pairs(t) do
    r[k] = type(v) == 'table' and copy(v) or v
  end
  return r
end

local function live(k)
  local v = this.keys[k]
  if v and v.till and v.till <= sim_now() then
    this.keys[k] = nil
    return nil
  end
  return v
end

local function hash(k)
  local v = live(k)
  if not v then
    v = {h = {}}
    this.keys[k] = v
  end
  return v.h
end

local commands = {
  TIME = function()
    local ms = sim_now()
    local s = math.floor(ms / 1000)
    return {string.format('%.0f', s), string.format('%.0f', (ms - s * 1000) * 1000)}
  end,
  INFO = function(what)
    if what == 'server' then
      return string.format('redis_version:7.0.15\r\nredis_mode:%s\r\nrun_id:%040x\r\n', this.mode, this.run)
    end
    local good = this.good and string.format('min_slaves_good_slaves:%d\r\n', this.good) or ''
    return string.format('role:%s\r\nmaster_replid2:%040x\r\n%s', this.role, this.followed, good)
  end,
  HSET = function(k, ...)
    local h, a = hash(k), {...}
    for i = 1, #a, 2 do
      h[tostring(a[i])] = tostring(a[i + 1])
    end
    return #a / 2
  end,
  HGET = function(k, f)
    local v = live(k)
    return v and v.h[tostring(f)] or false
  end,
  HMGET = function(k, ...)
    local v, r = live(k), {...}
    for i = 1, #r do
      r[i] = v and v.h[tostring(r[i])] or false
    end
    return r
  end,
  DEL = function(k)
    this.keys[k] = nil
    return 1
  end,
  GET = function(k)
    local v = live(k)
    return v and v.s or false
  end,
  SET = function(k, s, how, n)
    local till = how == 'PXAT' and tonumber(n) or how == 'PX' and sim_now() + tonumber(n) or nil
    this.keys[k] = {s = s, till = till}
    return {ok = 'OK'}
  end,
  CLUSTER = function(what)
    return what == 'NODES' and sim_nodes() or sim_slot()
  end,
  TYPE = function(k)
    local v = live(k)
    return {ok = not v and 'none' or v.h and 'hash' or 'string'}
  end,
  PTTL = function(k)
    local v = live(k)
    return v and v.till and v.till - sim_now() or -2
  end,
}
commands.UNLINK = commands.DEL
local writes = {HSET = true, DEL = true, UNLINK = true, SET = true}

redis = {sha1hex = sim_hash, replicate_commands = function() end}

function redis.call(name, ...)
  local f = commands[name]
  if not f then
    error('the simulated server lacks ' .. name, 0)
  end
  local master, reply = this, f(...)
  for _, s in pairs(writes[name] and all or {}) do
    if s.follows == master then
      this = s
      f(...)
    end
  end
  this = master
  return reply
end
redis.pcall = redis.call

-- What a program without a record does: SET key value PX ms, with NX if `free`.
function sim_register(k, ms, free)
  if free and live(k) then
    return false
  end
  this.keys[k] = {s = 'crate-host\1\2', till = sim_now() + ms}
  return true
end

function sim_use(which)
  this = all[which]
end

function sim_role()
  return this.role
end

function sim_save(which)
  all[which].saved = copy(all[which].keys)
end

-- 0: with its data, 1: with those of its save, 2: empty.
function sim_restart(which, how)
  local s = all[which] or {keys = {}, saved = {}, run = which * 1000, followed = 0, mode = 'standalone', role = 'master'}
  all[which] = s
  s.run = s.run + 1
  if how > 0 then
    s.keys = how == 1 and copy(s.saved) or {}
  end
end

function sim_flush(which)
  all[which].keys = {}
end

-- What has a time to live goes first, where memory is short: registrations.
function sim_evict(which)
  for k, v in pairs(all[which].keys) do
    all[which].keys[k] = v.h and v or nil
  end
end

-- A replica with the data of the save becomes the master.
function sim_promote(which)
  local s = all[which]
  s.followed = s.followed + 1
  s.run = s.run + 1
  s.keys = copy(s.saved)
end

-- An operator puts back what the save has: all of it, or the hash alone.
function sim_put_back(which, hash_alone)
  local s, old = all[which], copy(all[which].saved)
  if hash_alone == 0 then
    s.keys = old
    return
  end
  for k, v in pairs(old) do
    s.keys[k] = v.h and v or s.keys[k]
  end
end

-- A replica takes writes all the same, as one with replica-read-only no.
function sim_follow(which, of)
  local s = all[which]
  s.keys, s.follows, s.role, s.good = copy(all[of].keys), all[of], 'slave', nil
end

function sim_part(which)
  all[which].follows = nil
end

function sim_take_over(which)
  local s = all[which]
  s.follows, s.role, s.followed = nil, 'master', s.followed + 1
end

function sim_count(which, good)
  all[which].good = good
end

function sim_node(which)
  all[which].mode = 'cluster'
end

-- Replicas do what their masters do.
function sim_migrate(to, from)
  local keys = all[from].keys
  for _, s in pairs(all) do
    if s == all[from] or s.follows == all[from] then
      s.keys = {}
    elseif s == all[to] or s.follows == all[to] then
      s.keys = copy(keys)
    end
  end
end
