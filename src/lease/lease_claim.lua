-- SPDX-License-Identifier: MIT
--
-- Second part of the lease script (lease.lua): records, and which pid a claim is granted.

-- ---- records --------------------------------------------------------------------------------------------------------------

-- Returns what a record is, its tick, and where its nonce and base begin. A claim reads thousands, so no text is cut out here.
-- A record has exactly the form that this script writes. Any other is unreadable, and no claim gets its pid.
local function read(record)
  if not record then
    return 'none'
  end
  local at, rest = string.match(record, '^(%d%d%d%d%d%d%d%d%d%d%d+)()')
  if at and rest > #record then
    return 'released', tonumber(at)
  elseif not at or not string.find(record, '^ [^ ]+ [^ ]', rest) then
    return 'unreadable'
  end
  return 'held', tonumber(at), rest + 1
end

-- Of a held record.
local function nonce_and_base(record, rest)
  return string.match(record, '^(%S+) (.+)$', rest)
end

local function registration(pid)
  return key .. ':' .. string.char(pid % 256, math.floor(pid / 256))
end

-- Returns what is registered: false if nothing is, '' if it is no text and so not ours.
local function registered(pid)
  local reply = redis.pcall('GET', registration(pid))
  if type(reply) ~= 'table' then
    return reply
  elseif string.find(reply.err, 'WRONGTYPE', 1, true) then
    return ''
  end
  error({'GET', reply.err}, 0)
end

-- Registers a pid until S past a tick: a program that goes by registrations alone starts at what its own clock says then. On
-- servers without PXAT the end may be a moment off; nothing here depends on that.
local function register(pid, base, till)
  local ends = epoch + till * unit + S
  if pxat then
    call('SET', registration(pid), base, 'PXAT', dec(ends))
  else
    call('SET', registration(pid), base, 'PX', dec(math.max(1, ends - now)))
  end
end

-- Each writing of a record raises n, which says how far this era has come. Returns the server's reply.
local function write(pid, record)
  n = n + 1
  return redis.pcall('HSET', key, dec(pid), record, 'n', dec(n))
end

local function must_write(pid, record)
  local reply = write(pid, record)
  if type(reply) == 'table' and reply.err then
    error({'HSET', reply.err}, 0)
  end
end

-- Writes the record last: a command that is not permitted fails before anything is granted.
local function grant(pid, lo, l, nonce, base)
  if registers then
    register(pid, base, l)
  end
  local reply = write(pid, string.format('%011.0f %s %s', l, nonce, base))
  if type(reply) == 'table' and reply.err then
    if registers then
      redis.pcall('DEL', registration(pid)) -- it would stand for somebody without a record
    end
    error({'HSET', reply.err}, 0)
  end
  return {'OK', dec(now), dec(lo), dec(l), dec(pid)}
end

-- ---- claim ----------------------------------------------------------------------------------------------------------------

-- Returns what a pid has to offer: the first tick and the limit; or nothing, and the tick from which it may (none: not known).
local function offer(pid, kind, at, mine)
  local open, limit = q[part(pid)], tick(now + claim_window())
  if kind == 'none' then
    -- A holder may have been forgotten, and may use up a window from before.
    if t >= open then
      return t, limit
    end
    return nil, open
  elseif kind == 'released' then
    -- Its holder told this server where it stopped: no need to wait for q, unless an old copy had granted the pid to another, too.
    local from = math.max(at - 1, meta.d and open or 0)
    if t >= from then
      return math.max(t, at), limit
    end
    return nil, from
  elseif kind == 'held' and mine then
    -- The claim was granted but its answer was lost: grant the same again, from no earlier than then.
    return math.max(t, at - claim_window() / unit + 1), math.max(limit, at)
  elseif kind == 'held' then
    -- The lease has run out. Before q that proves nothing: the server may have forgotten another one, and a late renewal may
    -- then have written this record.
    local free = math.max(at, open)
    if t >= free then
      return t, limit
    end
    return nil, free
  end
end

-- True for a registration of ours: it ends in the 16 hexadecimal digits of a token, and the Rust crate's in two bytes.
local function is_base(who)
  return string.find(who, ':' .. string.rep('%x', 16) .. '$')
end

-- Does a program use the pid that does not go by the hash? Our own registrations do not count, because failovers and flushes
-- leave old ones: the records show who of us has the pid.
local function foreign(pid)
  local who = registers and registered(pid)
  return who and not is_base(who)
end

-- Grants the pid's window to the claimer; or returns nothing, and from which tick on it may.
local function try(pid, record, nonce, base)
  local kind, at, rest = read(record)
  local mine = kind == 'held' and string.sub(record, -#base - 1) == ' ' .. base
  local lo, l = offer(pid, kind, at, mine)
  if not lo then
    return nil, l
  end
  local recorded_nonce = mine and nonce_and_base(record, rest)
  if foreign(pid) then
    stranger = dec(pid)
    -- The registration may go at any time. Holders renew three times in a window.
    return nil, tick(now + W / 3) + 1
  end
  -- Nonces of one base grow: an attempt that arrives after a later one was answered must not bring back the older nonce.
  return grant(pid, lo, l, mine and recorded_nonce > nonce and recorded_nonce or nonce, base)
end

-- ---- where a claim looks ---------------------------------------------------------------------------------------------------

-- A claim looks at pids near its own place, at those released last, and at the next STEP of a search that all claims share. So no
-- script looks at all pids. Field i0 is of the ordinary pids, i1 of the short ones: 'min-max u hand done soonest pid pid ...'
--   min-max  the asker's range; for another range the index begins anew
--   u        before this tick nothing fits but what is listed
--   hand     where the search goes on; done: how many it has seen; soonest: the first tick at which one of those may fit
--   pid ...  released, the latest last; LISTED of them at most
-- Only a pid's record decides what is granted. A wrong index costs time.
local LISTED, AT_ONCE, STEP, NEVER = 32, 8, 128, 2 ^ 52

-- The pids of a part in the asker's range are numbered: returns the first number and the count.
local function places(k)
  local below, beyond = 0, 0 -- short pids below the range, and below its end
  if w > 0 then
    below, beyond = math.floor(pid_min / share), math.floor((pid_max + 1) / share)
  end
  if k == 1 then
    return below, beyond - below
  end
  return pid_min - below, pid_max + 1 - beyond - (pid_min - below)
end

local function number_of(k, pid)
  local short = w > 0 and math.floor(pid / share) or 0
  return k == 1 and short or pid - short
end

local function pid_of(k, number)
  if w == 0 then
    return number
  end
  return k == 1 and number * share + share - 1 or number + math.floor(number / (share - 1))
end

local function range()
  return dec(pid_min) .. '-' .. dec(pid_max)
end

local function index(k)
  local of, u, hand, done, soonest, rest = string.match(meta['i' .. k] or '', '^(%S+) (%d+) (%d+) (%d+) (%d+)(.*)$')
  local x = {u = 0, done = 0, soonest = NEVER, list = {}}
  -- A tick that no window reaches is from before the clock was set back.
  if of == range() and tonumber(u) <= math.max(q[k], tick(now + W + S) + 1) then
    x.u, x.hand, x.done, x.soonest = tonumber(u), tonumber(hand), tonumber(done), tonumber(soonest)
    for pid in string.gmatch(rest, '%d+') do
      x.list[#x.list + 1] = tonumber(pid)
    end
  end
  return x
end

local function index_text(u, hand, done, soonest, list)
  return string.format('%s %.0f %.0f %.0f %.0f %s', range(), u, hand, done, soonest, table.concat(list, ' '))
end

local function keep(k, x)
  call('HSET', key, 'i' .. k, index_text(x.u, x.hand or 0, x.done, x.soonest, x.list))
end

-- A pid is granted only by its record: returns the answer and which of the pids it is; else the tick from which one may fit.
local function first_of(pids, nonce, base)
  local soonest = NEVER
  for i, record in ipairs(#pids > 0 and call('HMGET', key, unpack(pids)) or {}) do
    local answer, from = try(pids[i], record, nonce, base)
    if answer then
      return answer, i, soonest
    end
    soonest = math.min(soonest, from or NEVER)
  end
  return nil, 0, soonest
end

-- Looks at the pids listed last. Drops those that are no longer released; those that do not fit yet go to the other end, so that
-- the next claim looks at others. Returns the answer, if any, from when one may fit, and whether the list has changed.
local function first_listed(x, nonce, base)
  local tried, soonest = {}, NEVER
  for _ = 1, math.min(AT_ONCE, #x.list) do
    tried[#tried + 1] = table.remove(x.list)
  end
  if #tried == 0 then
    return nil, NEVER, false
  end
  local before, answer = #x.list, nil
  for i, record in ipairs(call('HMGET', key, unpack(tried))) do
    local from
    if not answer and read(record) == 'released' then
      answer, from = try(tried[i], record, nonce, base)
      soonest = math.min(soonest, from or NEVER)
    end
    if from or (answer and answer[5] ~= dec(tried[i])) then
      table.insert(x.list, 1, tried[i])
    end
  end
  return answer, soonest, answer or before > 0 or #x.list < #tried
end

-- Goes on with the search. When it has seen every pid, nothing fits before `soonest`: limits only rise, what is released is
-- listed, and what is granted since is noted. An index that begins anew at each claim, because claims of two ranges take turns,
-- begins at another place each time.
local function search(k, x, nonce, base)
  local first, count = places(k)
  local hand, step, pids = (x.hand or now) % count, math.min(STEP, count), {}
  for i = 0, step - 1 do
    pids[#pids + 1] = pid_of(k, first + (hand + i) % count)
  end
  local answer, n, from = first_of(pids, nonce, base)
  local seen = answer and n or step
  x.hand, x.done = (hand + seen) % count, x.done + seen
  x.soonest = math.min(x.soonest, from)
  if x.done >= count then
    x.u, x.done, x.soonest = x.soonest, 0, NEVER
  end
  return answer
end

-- A claim's window may end before all that the search has seen. Returns whether that changes the index.
local function notes(k, x, answer)
  local u, soonest, limit = x.u, x.soonest, answer and math.max(tonumber(answer[4]), q[k]) or NEVER
  x.u = math.min(u, limit)
  if x.done > 0 then
    x.soonest = math.min(soonest, limit)
  end
  return x.u < u or x.soonest < soonest
end

-- A pid of one part; or nothing, from when on there may be one, and whether some were not looked at yet.
local function claim_of(k, start, nonce, base)
  local first, count = places(k)
  -- A host whose clock is that far ahead would be past a short window for most of the time.
  if count == 0 or (k == 1 and host - now > w / 2) then
    return nil, NEVER, false
  end
  local own, at = {}, (number_of(k, math.floor(start)) - first) % count
  for i = 0, math.min(AT_ONCE, count) - 1 do
    own[#own + 1] = pid_of(k, first + (at + i) % count)
  end
  local answer, _, soonest = first_of(own, nonce, base)
  local x, from, changed = index(k), NEVER, false
  if not answer then
    answer, from, changed = first_listed(x, nonce, base)
    soonest = math.min(soonest, from)
  end
  if not answer and t >= x.u then
    answer = search(k, x, nonce, base)
    changed = true
  end
  if notes(k, x, answer) or changed then
    keep(k, x)
  end
  return answer, math.min(soonest, math.max(x.u, t)), x.done > 0 and t >= x.u
end

-- The claims that wait come one after the other, 100 a second at most, whatever their number.
local function retry(soonest, searching)
  local earliest = now + 10
  if not searching then
    earliest = math.max(earliest, math.min(now + 2000, epoch + soonest * unit))
  end
  local come = math.max(earliest, math.min(tonumber(meta.p) or 0, now + 60000) + 10)
  call('HSET', key, 'p', dec(come))
  return {'RETRY', dec(now), dec(soonest), dec(come - now), wait_until(0)}
end

-- Ordinary pids first.
local function claim()
  local start, nonce, base = int(OWN + 1), ARGV[OWN + 2], ARGV[OWN + 3]
  local answer, soonest, searching = claim_of(0, start, nonce, base)
  if answer then
    return answer
  end
  local short, from, more = claim_of(1, start, nonce, base)
  return short or retry(math.min(soonest, from), searching or more)
end
