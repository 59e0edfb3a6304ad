-- SPDX-License-Identifier: MIT
--
-- The lease script: who may use which pid of an app, and for which ticks. One EVAL is one exchange. All state lies in one
-- hash, and only this script changes it. It runs on Redis 5 and later and on Valkey. Each rule has its reason beside it.
-- Together they ensure that no two holders are ever granted the same tick of the same pid.
--
-- KEYS[1]  sfid:APP, and no other: the names of registrations are made from it. In a cluster those have to share its slot, so
--          APP needs a hash tag there ("{orders}") unless registration is off.
--
-- ARGV     numbers are decimal, times are Unix milliseconds
--   1 op   claim renew release init finish look
--   2 bits   the layout's fields as text without a space, such as 36:11:17
--   3 epoch   4 unit   5 W, the window: a multiple of the unit, at least two   6 S, the skew budget
--   7 clock of the asking host   8 how far it may be from the server's (0: any distance)
--   9 pid_min   10 pid_max   (both included, at most 65535)
--   11 registration: 1 or 0
--   claim    12 first pid to look at   13 nonce   14 base
--   renew    12 pid   13 nonce of the last renewal answered   14 base   15 nonce of this one   16 limit that the holder has
--   release  12 pid   13, 14, 15 as for renew   16 position: the first unused tick   17 limit that the holder has
--   init     12 state that `look` returned, or nothing: in any state
--   finish   12 pid   13 base that `look` returned
--   look     12 first pid to list
--   A nonce has neither space nor line end. Of two nonces of one base the later one is above the other (as text). base is
--   machine:seq:TOKEN, and its TOKEN is never used for another lease. A claim or renewal without an answer is made again with
--   the same nonces and base. A release is sent once and never again.
--
-- Answers are arrays of strings: a word, the server's clock, and what goes with the word. Ticks and pids are decimal. `era` is
-- 8 hexadecimal digits, which change when the server has forgotten the app.
--   claim    OK now lo limit pid era    the ticks lo <= t < limit of the pid are granted. lo lies at most one tick in the
--                                       future, except for a claim made again. limit is the tick of now + W, except for a
--                                       claim made again after the server's clock was set back
--            RETRY now tick next q era  nothing fits before that tick, as far as this call looked: at 4096 pids at most. The
--                                       next claim starts at next; if that is where this one started, all were looked at.
--                                       Before q, pids that the server knows nothing of have to wait
--   renew    OK now limit-before limit pid era    the window goes on from the holder's limit to this one, which is never lower
--            LOST now era               another process has or had the pid since, or two processes showed this lease, or it ran
--                                       out and a program without a record has registered the pid
--            GONE now q era             the server has forgotten the lease, and another may have begun
--   release  OK now era, LOST now era, GONE now q era
--   init     OK now era                 from now on pids without a record are granted at once
--            CHANGED now                not done: the hash is not what `look` saw
--   finish   OK now limit era           the holder cannot renew any more: the pid comes free at the limit, as always
--            CHANGED now                not done: the pid is not held under that base
--   look     OK now known lay q g state next (pid kind tick who)…
--                                       known: none (no hash, then lay q g are -), old (the next change forgets it) or
--                                       current. Records of up to 64 pids from the first asked for, ascending; next is where
--                                       to go on, pid_max + 1 at the end. kind: held (tick is the limit), ending (the same,
--                                       after `finish`), released (the first unused tick) or foreign (a registration without
--                                       a record of ours; tick is when it runs out, - if not known). who: base or registration
--                                       (at most 160 characters, ? for unprintable ones), - if released. Writes nothing
--   any      EPOCH now                  the server's clock is before the epoch
--            SKEW now                   the clocks of host and server differ by more than allowed
--            LAYOUT now lay             the app is used with other settings: lay is 'bits/unit@epoch W S'
--            TAG now                    a cluster, registration, and no hash tag in the app's name
--            NOINFO now                 INFO has no run_id or master_replid2: a proxy answers it
--            DENIED now command what    the user may not use the command or, if what is `key` and not `command`, this key
--   After one of these nothing was granted and, except for DENIED, nothing was written. Other errors of the server (READONLY,
--   OOM, MISCONF, NOREPLICAS, WRONGTYPE …) are returned as error replies that begin with that word.
--
-- The hash has no time to live: it exists as a whole or not at all.
--   lay   bits/unit@epoch W S
--   inc   run_id:master_replid2 of the server that wrote it
--   q     before this tick a window may still be open that a forgotten server granted
--   g     a limit from this tick on shows that nobody else can have begun
--   PID   'limit nonce base' while held, 'position' after a release; the nonce of an ending lease is ~, which no holder has
-- sfid:APP: and the pid as two bytes, low byte first, is the registration: it holds the base until the limit, and shows other
-- programs that the pid is taken. To this script it proves nothing, and losing it changes nothing.

local key, op, bits, registers = KEYS[1], ARGV[1], ARGV[2], ARGV[11] == '1'

local function int(i)
  return assert(tonumber(ARGV[i]), 'argument ' .. i .. ' is not a number')
end
local epoch, unit, W, S = int(3), int(4), int(5), int(6)
local host, max_skew, pid_min, pid_max = int(7), int(8), int(9), int(10)
assert(unit >= 1 and W >= 2 * unit and W % unit == 0, 'argument 5 has to be a multiple of the unit, at least two units')
assert(S >= 0 and pid_min >= 0 and pid_min <= pid_max and pid_max <= 65535, 'argument 6, 9 or 10 is out of range')

-- All digits of a bound: Lua's own conversion keeps 14.
local function dec(x)
  return string.format('%.0f', x)
end

-- exchange() sets these. `pxat`: SET knows PXAT.
local now, t, limit, q, g, era, pxat = 0, 0, 0, 0, 0, '', false

-- Rounds down, because a tick has begun when its first millisecond has.
local function tick(ms)
  return math.floor((ms - epoch) / unit)
end

-- An error of the server ends the exchange: {command, its text}.
local function call(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) == 'table' and reply.err then
    error({command, reply.err}, 0)
  end
  return reply
end

-- ---- the server -----------------------------------------------------------------------------------------------------------

-- The server in its present role, or nothing. run_id changes at each start. It stays the same when a master becomes a replica
-- and then master again, and has missed what the other granted. master_replid2 changes with each promotion.
local function incarnation(about, replication)
  local run = string.match(about, 'run_id:(%x+)')
  local before = string.match(replication, 'master_replid2:(%x+)')
  return run and before and run .. ':' .. before
end

-- min-replicas-to-write keeps a master from granting that has lost its replicas, and may be superseded. Before Redis 7 it did
-- not apply to scripts. INFO has the line only if the setting is in force.
local function is_alone(replication)
  return string.find(replication, 'min_slaves_good_slaves:0', 1, true)
end

-- In a cluster a key without a tag lies where its hash says, and the registrations elsewhere.
local function misses_tag(about)
  return registers and string.find(about, '_mode:cluster', 1, true) and not string.find(key, '^[^{]*{[^}]+}')
end

local function knows_pxat(about)
  local major, minor = string.match(about, 'redis_version:(%d+)%.(%d+)')
  return major and tonumber(major) * 100 + tonumber(minor) >= 602
end

-- ---- records --------------------------------------------------------------------------------------------------------------

-- Returns what a record is, its tick, and where its nonce and base begin. A claim reads thousands, so no text is cut out here.
local function read(record)
  if not record then
    return 'none'
  end
  local at, rest = string.match(record, '^(%d+) ?()')
  if not at then
    return 'unreadable'
  end
  return rest > #record and 'released' or 'held', tonumber(at), rest
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

-- Writes the record last: a command that is not permitted fails before anything is granted. On servers without PXAT the
-- registration may end a moment off the limit; nothing here depends on that.
local function grant(pid, lo, l, nonce, base)
  if registers then
    local ends = epoch + l * unit
    if pxat then
      call('SET', registration(pid), base, 'PXAT', dec(ends))
    else
      call('SET', registration(pid), base, 'PX', dec(ends - now))
    end
  end
  local reply = redis.pcall('HSET', key, dec(pid), string.format('%011.0f %s %s', l, nonce, base))
  if type(reply) == 'table' and reply.err then
    if registers then
      redis.pcall('DEL', registration(pid)) -- it would stand for somebody without a record
    end
    error({'HSET', reply.err}, 0)
  end
  return {'OK', dec(now), dec(lo), dec(l), dec(pid), era}
end

-- ---- claim ----------------------------------------------------------------------------------------------------------------

-- Returns what a pid has to offer: the first tick and the limit; or nothing, and the tick from which it may (none: not known).
local function offer(kind, at, mine)
  if kind == 'none' then
    -- A holder may have been forgotten, and may use up a window from before.
    if t >= q then
      return t, limit
    end
    return nil, q
  elseif kind == 'released' then
    -- Its holder told this server where it stopped: no need to wait for q.
    if at <= t + 1 then
      return math.max(t, at), limit
    end
    return nil, at - 1
  elseif kind == 'held' and mine then
    -- The claim was granted but its answer was lost: grant the same again, from no earlier than then.
    return math.max(t, at - W / unit + 1), math.max(limit, at)
  elseif kind == 'held' then
    -- The lease has run out. Before q that proves nothing: the server may have forgotten another one, and a late renewal may
    -- then have written this record.
    local free = math.max(at, q)
    if t >= free then
      return t, limit
    end
    return nil, free
  end
end

-- Does a program use the pid that does not go by the hash? A registration that belongs to a record of ours does not count.
local function foreign(pid, base, recorded)
  local who = registers and registered(pid)
  return who and who ~= base and who ~= recorded
end

-- Grants the pid's window to the claimer; or returns nothing, and from which tick on it may.
local function try(pid, record, nonce, base)
  local kind, at, rest = read(record)
  local mine = kind == 'held' and string.sub(record, -#base - 1) == ' ' .. base
  local lo, l = offer(kind, at, mine)
  if not lo then
    return nil, l
  end
  local recorded_nonce, recorded
  if kind == 'held' then
    recorded_nonce, recorded = nonce_and_base(record, rest)
  end
  if foreign(pid, base, recorded) then
    -- The registration may go at any time. Holders renew three times in a window.
    return nil, tick(now + W / 3) + 1
  end
  -- Nonces of one base grow: an attempt that arrives after a later one was answered must not bring back the older nonce.
  return grant(pid, lo, l, mine and recorded_nonce > nonce and recorded_nonce or nonce, base)
end

local function records(first, count)
  local names = {}
  for i = 1, count do
    names[i] = first + i - 1
  end
  return call('HMGET', key, unpack(names))
end

local function claim()
  local nonce, base = ARGV[13], ARGV[14]
  local pids = pid_max - pid_min + 1
  local start, looked, soonest = int(12) - pid_min, 0, nil
  -- The server does nothing else meanwhile, so a call looks at so many, and the client comes again.
  local most = math.min(pids, 4096)
  while looked < most do
    local at = (start + looked) % pids
    local found = records(pid_min + at, math.min(256, most - looked, pids - at))
    for i, record in ipairs(found) do
      local answer, from = try(pid_min + at + i - 1, record, nonce, base)
      if answer then
        return answer
      end
      soonest = from and math.min(from, soonest or from) or soonest
    end
    looked = looked + #found
  end
  return {'RETRY', dec(now), dec(soonest or limit), dec(pid_min + (start + looked) % pids), dec(q), era}
end

-- ---- renew, release -------------------------------------------------------------------------------------------------------

-- Is the record the one that granted the holder its limit, or a later one that the holder asked for? A copied process has the
-- same base: the first of the two to renew leaves a nonce that the second does not know. And a claim may be held up for longer
-- than its lease while another holder has the pid. It then makes a record like the first, and a holder that has not renewed
-- since shows that claim's nonce. But such a record was made after the holder's limit.
local function own(record, at, rest, limit_held)
  local nonce, base = nonce_and_base(record, rest)
  if base ~= ARGV[14] then
    return false
  elseif nonce == ARGV[13] then
    return at - W / unit < limit_held
  end
  return nonce == ARGV[15]
end

local function renew()
  local pid, base, nonce, had = int(12), ARGV[14], ARGV[15], int(16)
  local record = call('HGET', key, dec(pid))
  local kind, at, rest = read(record)
  if kind == 'none' then
    -- The record was forgotten. The holder's own limit proves its right if nobody can have been granted the pid since.
    if had < g then
      return {'GONE', dec(now), dec(q), era}
    end
    at = 0
  elseif kind ~= 'held' or not own(record, at, rest, had) then
    return {'LOST', dec(now), era}
  end
  if had <= t and foreign(pid, base, base) then
    -- Its window is over, and so was its registration: a program that goes by registrations alone has taken the pid.
    return {'LOST', dec(now), era}
  end
  -- The limit never falls: what was granted may be in use, even if the clock went back or an answer was lost.
  return grant(pid, had, math.max(limit, had, at), nonce, base)
end

-- A release proves nothing: it makes no record if the server has forgotten the old one.
local function release()
  local pid, base, position, had = int(12), ARGV[14], int(16), int(17)
  local record = call('HGET', key, dec(pid))
  local kind, at, rest = read(record)
  if kind == 'none' then
    return {'GONE', dec(now), dec(q), era}
  elseif kind ~= 'held' or not own(record, at, rest, had) then
    return {'LOST', dec(now), era}
  end
  call('HSET', key, dec(pid), string.format('%011.0f', position))
  if registers and registered(pid) == base then
    call('DEL', registration(pid))
  end
  return {'OK', dec(now), era}
end

-- ---- init, finish, look ---------------------------------------------------------------------------------------------------

-- The operator says that no process of this app is running anywhere. g stays: a process that runs all the same has to prove its
-- right.
local function init()
  call('HSET', key, 'q', '0')
  return {'OK', dec(now), era}
end

-- The operator ends a holder's lease. The window stays as it is: it was granted, and may be in use. The nonce goes, so no
-- renewal or release fits any more. ~ is above all other nonces, so no late claim brings one back.
local function finish()
  local pid = int(12)
  local record = call('HGET', key, dec(pid))
  local kind, at, rest = read(record)
  local _, base
  if kind == 'held' then
    _, base = nonce_and_base(record, rest)
  end
  if not base or base ~= ARGV[13] then
    return {'CHANGED', dec(now)}
  end
  call('HSET', key, dec(pid), string.format('%011.0f ~ %s', at, base))
  return {'OK', dec(now), dec(at), era}
end

-- For a foreign registration: anybody may have written anything.
local function shown(who)
  return (string.gsub(string.sub(who, 1, 160), '[^ -~]', '?'))
end

-- Appends the entry of a pid, if it has one.
local function tell(answer, pid, record)
  local kind, at, rest = read(record)
  local nonce, base
  local who = kind ~= 'held' and registers and registered(pid)
  if kind == 'held' then
    nonce, base = nonce_and_base(record, rest)
    kind = nonce == '~' and 'ending' or kind
  end
  local ends = at and dec(at) or '-'
  if who then
    -- Its end is worth a command even if that may be denied.
    local left = redis.pcall('PTTL', registration(pid))
    kind, base = 'foreign', shown(who)
    ends = type(left) == 'number' and left > 0 and dec(tick(now + left)) or '-'
  end
  if kind ~= 'none' then
    for _, text in ipairs({dec(pid), kind, ends, base or '-'}) do
      answer[#answer + 1] = text
    end
  end
end

local function look(known, meta, state)
  local first = math.max(int(12), pid_min)
  local count = math.min(64, pid_max - first + 1)
  local answer = {'OK', dec(now), known, meta[1] or '-', meta[3] or '-', meta[4] or '-', state, dec(first + math.max(count, 0))}
  if count > 0 then
    for i, record in ipairs(records(first, count)) do
      tell(answer, first + i - 1, record)
    end
  end
  return answer
end

-- ---- the exchange ---------------------------------------------------------------------------------------------------------

-- Reads the clock once: before Redis 7.2 it goes on within a script, and bounds from two readings would not fit together.
-- Returns the word that refuses at once, if any.
local function refused()
  local time = call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  if now < epoch then
    return 'EPOCH'
  elseif max_skew > 0 and math.abs(host - now) > max_skew then
    return 'SKEW'
  end
end

-- If the server may have forgotten anything, all is forgotten: what an old file, a lagging replica or a former master still
-- knows is worse than nothing. In W and S from now every window granted before has ended. In S from now every superseded server
-- has granted its last window. Both rest on clocks that differ by S at most.
local function forget(lay, inc)
  q, g = tick(now + W + S) + 1, tick(now + S) + 1
  call('DEL', key)
  call('HSET', key, 'lay', lay, 'inc', inc, 'q', dec(q), 'g', dec(g))
end

local ops = {claim = claim, renew = renew, release = release, init = init, finish = finish, look = look}
assert(ops[op], 'argument 1 is not an operation')

local function exchange()
  local word = refused()
  if word then
    return {word, dec(now)}
  end
  local lay = string.format('%s/%s@%s %s %s', bits, dec(unit), dec(epoch), dec(W), dec(S))
  local meta = call('HMGET', key, 'lay', 'inc', 'q', 'g')
  if meta[1] and meta[1] ~= lay then
    return {'LAYOUT', dec(now), meta[1]}
  end
  local about, replication = call('INFO', 'server'), call('INFO', 'replication')
  local inc = incarnation(about, replication)
  if not inc then
    return {'NOINFO', dec(now)}
  elseif misses_tag(about) then
    return {'TAG', dec(now)}
  end
  t, limit, q, g = tick(now), tick(now + W), tonumber(meta[3]), tonumber(meta[4])
  local known = not meta[1] and 'none' or (meta[2] == inc and q and g) and 'current' or 'old'
  local state = redis.sha1hex((meta[2] or '-') .. ' ' .. (meta[4] or '-') .. ' ' .. inc)
  if op == 'look' then
    return look(known, meta, state)
  elseif is_alone(replication) then
    return {err = 'NOREPLICAS Not enough good replicas to write.'}
  elseif op == 'init' and ARGV[12] ~= '' and ARGV[12] ~= state then
    return {'CHANGED', dec(now)}
  end
  if known ~= 'current' then
    forget(lay, inc)
  end
  pxat, era = knows_pxat(about), string.sub(redis.sha1hex(inc .. ' ' .. dec(g)), 1, 8)
  return ops[op]()
end

-- Redis 5 and 6 can be set to replicate scripts by their text, which would run them on another clock.
if redis.replicate_commands then
  redis.replicate_commands()
end

-- How servers say that an ACL forbids a command or a key.
local function denied(text)
  for _, words in ipairs({"can't run this", 'ACL failure', 'NOPERM', "can't access"}) do
    if string.find(text, words, 1, true) then
      local key_denied = string.find(text, "can't access", 1, true) or string.find(text, 'to access', 1, true)
      return key_denied and 'key' or 'command'
    end
  end
end

local done, answer = pcall(exchange)
if done then
  return answer
elseif type(answer) ~= 'table' then
  error(answer, 0)
end
local command, text = answer[1], answer[2]
local what = denied(text)
if what then
  return {'DENIED', dec(now), string.lower(command), what}
end
-- Before Redis 7, some errors begin with their place in the script.
return {err = string.match(text, '^@user_script: *%d+: %-?(.*)') or text}
