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
--   2 bits   the layout's fields as text without a space, such as 36:11:17; of a pool with the server's range, 36:11:17#1-682
--   3 epoch   4 unit   5 W, the window: a multiple of the unit, at least two   6 S, the skew budget
--   7 clock of the asking host   8 how far it may be from the server's (0: any distance)
--   9 pid_min   10 pid_max   (both included, at most 65535)
--   11 registration: 1 or 0
--   12 w, the short window: a multiple of the unit, at least two; or 0: there is none
--   13 share: a power of two. One pid in `share`, those whose low bits are all ones, is short. 0 if w is 0
--   14 min_good: how many replicas have to be good
--   Each operation's own, counted from 1 behind those:
--   claim    1 first pid to look at   2 nonce   3 base
--   renew    1 pid   2 nonce of the last renewal answered   3 base   4 nonce of this one   5 limit that the holder has
--            6, 7, 8 as claim's 1, 2, 3, if the holder of a short pid wants an ordinary one
--   release  1 pid   2, 3, 4 as for renew   5 position: the first unused tick   6 limit that the holder has
--   init     1 state that `look` returned, or nothing: in any state
--   finish   1 pid   2 base that `look` returned
--   look     1 first pid to list
--   A nonce has neither space nor line end. Of two nonces of one base the later one is above the other (as text). base is
--   machine:seq:TOKEN, and its TOKEN is never used for another lease. A claim or renewal without an answer is made again with
--   the same nonces and base. A release is sent once and never again.
--
-- Answers are arrays of strings: a word, the server's clock, and what goes with the word. Ticks and pids are decimal. `era` is
-- 8 hexadecimal digits, which change when the server has forgotten the app.
--   claim    OK now lo limit pid era    the ticks lo <= t < limit of the pid are granted. lo lies at most one tick in the
--                                       future, except for a claim made again. limit is the tick of now + w (W if w is 0),
--                                       except for a claim made again after the server's clock was set back
--            RETRY now tick poll q era  nothing is known to fit before that tick unless a pid is released. Come again in poll
--                                       milliseconds. Before q, pids that the server knows nothing of have to wait.
--                                       After either, and a renewal's OK or MOVED: a pid, if one was passed over that a program
--                                       without a record registered
--   renew    OK now limit-before limit pid era    the window goes on from the holder's limit to this one, which is never lower
--            MOVED now lo limit pid era an ordinary pid, granted as to a claim. The short one has its nonce, and keeps its limit
--            LOST now era               another process has or had the pid since, or two processes showed this lease
--            FOREIGN now era            a program without a record has registered the pid, and may use it already
--            GONE now q era             the server has forgotten the lease, and another may have begun
--   release  OK now era, LOST now era, GONE now q era
--   init     OK now era                 from now on pids without a record are granted at once
--            CHANGED now                not done: the hash is not what `look` saw
--   finish   OK now limit era           the holder cannot renew any more: the pid comes free at the limit, as always
--            CHANGED now                not done: the pid is not held under that base
--   look     OK now known lay q g state next 'pid kind tick who'…
--                                       known: none (no hash, then lay q g are -), old (the next change forgets it) or
--                                       current. Records of the pids asked for, ascending; next is where to go on, pid_max + 1
--                                       at the end. kind: held (tick is the limit), ending (the same,
--                                       after `finish`), released (the first unused tick) or foreign (a registration without
--                                       a record of ours; tick is when it runs out, - if not known). who: base or registration
--                                       (at most 160 characters, ? for unprintable ones), - if released. Writes nothing
--   any      EPOCH now                  the server's clock is before the epoch
--            SKEW now                   the clocks of host and server differ by more than allowed
--            LAYOUT now lay             the app is used with other settings
--            TAG now                    a cluster, registration, and no hash tag in the app's name
--            MOVING now                 a cluster: the app's slot is moving to this node, which does not own it yet
--            NOINFO now                 INFO has no run_id or master_replid2: a proxy answers it
--            DENIED now command what    the user may not use the command or, if what is `key` and not `command`, this key
--   After one of these nothing was granted and, except for DENIED, nothing was written. Other errors of the server (READONLY,
--   OOM, MISCONF, NOREPLICAS, WRONGTYPE …) are returned as error replies that begin with that word.
--
-- The hash has no time to live: it exists as a whole or not at all.
--   lay   bits/unit@epoch W S, then w/share if w > 0, then min N if min_good > 0
--   inc   run_id:master_replid2 of the server that wrote it, and :config epoch in a cluster
--   q q1  before this tick a window may still be open that a forgotten server granted: of an ordinary, of a short pid
--   g     a limit from this tick on shows that nobody else can have begun
--   i0 i1 where claims look, of the ordinary and of the short pids (see `index`): hints, which prove nothing
--   p     Unix milliseconds: when the last of the waiting claims is to come again
--   PID   'limit nonce base' while held, 'position' after a release; the nonce of an ending lease is ~, which no holder has
-- sfid:APP: and the pid as two bytes, low byte first, is the registration: it holds the base until S past the limit, after a
-- release until S past the position, and shows other programs that the pid is taken. To this script it proves nothing, and
-- losing it changes nothing.

local key, op, bits, registers = KEYS[1], ARGV[1], ARGV[2], ARGV[11] == '1'

local function int(i)
  return assert(tonumber(ARGV[i]), 'argument ' .. i .. ' is not a number')
end
local epoch, unit, W, S = int(3), int(4), int(5), int(6)
local host, max_skew, pid_min, pid_max = int(7), int(8), int(9), int(10)
local w, share, min_good = int(12), int(13), int(14)
local OWN = 14 -- arguments before the operation's own
assert(unit >= 1 and W >= 2 * unit and W % unit == 0, 'argument 5 has to be a multiple of the unit, at least two units')
assert(w == 0 and share == 0 or w >= 2 * unit and w % unit == 0 and 2 * w <= W and share >= 2, 'argument 12 or 13 is out of range')
assert(S >= 0 and pid_min >= 0 and pid_min <= pid_max and pid_max <= 65535, 'argument 6, 9 or 10 is out of range')

-- All digits of a bound: Lua's own conversion keeps 14.
local function dec(x)
  return string.format('%.0f', x)
end

-- exchange() sets these. q[0] is of the ordinary pids, q[1] of the short ones; meta: the fields that are no pid's; `pxat`: SET
-- knows PXAT.
local now, t, q, g, era, pxat, meta = 0, 0, {}, 0, '', false, {}

-- The last pid that a claim passed over because a program without a record has registered it.
local stranger

-- Rounds down, because a tick has begun when its first millisecond has.
local function tick(ms)
  return math.floor((ms - epoch) / unit)
end

-- A short pid is only ever granted windows of w. So a server that forgets has to wait no longer than w + S before it grants one.
-- The number alone says which part a pid is of, whatever range the asker has.
local function part(pid)
  return w > 0 and pid % share == share - 1 and 1 or 0
end

-- The longest window that anybody was granted on this pid.
local function window(pid)
  return part(pid) == 1 and w or W
end

-- A claim grants w, and the first renewal W: a process that ends without a release blocks its pid for w only.
local function claim_window()
  return w > 0 and w or W
end

-- An error of the server ends the exchange: {command, its text}.
local function call(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) == 'table' and reply.err then
    error({command == 'CLUSTER' and command .. '|' .. (...) or command, reply.err}, 0)
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

-- min-replicas-to-write keeps a master from granting that has lost its replicas, and may be superseded. Before Redis 6.2.7 it did
-- not apply to scripts, and INFO does not say how many it asks for: min_good does. INFO has the line only if the setting is in
-- force.
local function is_alone(replication)
  local good = tonumber(string.match(replication, 'min_slaves_good_slaves:(%d+)'))
  if min_good > 0 then
    return not good or good < min_good
  end
  return good == 0
end

-- In a cluster: this node's config epoch, or nothing while the app's slot is moving to it. A hash written then would stay here if
-- the move is called off, and would pass for the current one if the slot came here later after all.
local function place()
  local mine = string.match('\n' .. call('CLUSTER', 'NODES'), '\n(%x+ %S+ %S*myself[^\n]*)')
  local slot = dec(call('CLUSTER', 'KEYSLOT', key))
  if not mine or string.find(mine, '[' .. slot .. '-<-', 1, true) then
    return nil
  end
  return string.match(mine, '^%S+ %S+ %S+ %S+ %S+ %S+ (%d+)')
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

-- Writes the record last: a command that is not permitted fails before anything is granted.
local function grant(pid, lo, l, nonce, base)
  if registers then
    register(pid, base, l)
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
local function offer(pid, kind, at, mine)
  local open, limit = q[part(pid)], tick(now + claim_window())
  if kind == 'none' then
    -- A holder may have been forgotten, and may use up a window from before.
    if t >= open then
      return t, limit
    end
    return nil, open
  elseif kind == 'released' then
    -- Its holder told this server where it stopped: no need to wait for q.
    if at <= t + 1 then
      return math.max(t, at), limit
    end
    return nil, at - 1
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
-- listed, and what is granted since is noted. An index that begins anew at each claim, because claims of two ranges take turns, begins at another place each time.
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
  -- A host whose clock is that far off would be past a short window, or before it, for most of the time.
  if count == 0 or (k == 1 and math.abs(host - now) > w / 2) then
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
  return {'RETRY', dec(now), dec(soonest), dec(come - now), dec(w > 0 and q[1] or q[0]), era}
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

-- ---- renew, release -------------------------------------------------------------------------------------------------------

-- Is the record the one that granted the holder its limit, or a later one that the holder asked for? A copied process has the
-- same base: the first of the two to renew leaves a nonce that the second does not know. And a claim may be held up for longer
-- than its lease while another holder has the pid. It then makes a record like the first, and a holder that has not renewed
-- since shows that claim's nonce. But such a record was made after the holder's limit.
local function own(record, at, rest, limit_held)
  local nonce, base = nonce_and_base(record, rest)
  if base ~= ARGV[OWN + 3] then
    return false
  elseif nonce == ARGV[OWN + 2] then
    return at - claim_window() / unit < limit_held
  end
  return nonce == ARGV[OWN + 4]
end

local function renew()
  local pid, base, nonce, had = int(OWN + 1), ARGV[OWN + 3], ARGV[OWN + 4], int(OWN + 5)
  local record = call('HGET', key, dec(pid))
  local kind, at, rest = read(record)
  if kind == 'none' then
    -- The record was forgotten. The holder's own limit proves its right if nobody can have been granted the pid since.
    if had < g then
      return {'GONE', dec(now), dec(q[part(pid)]), era}
    end
    at = 0
  elseif kind ~= 'held' or not own(record, at, rest, had) then
    return {'LOST', dec(now), era}
  end
  if foreign(pid) then
    -- A program that goes by registrations alone took the pid when ours was lost. It cannot be stopped, but the holder can. What
    -- was granted stays granted, and is not renewed again.
    call('HSET', key, dec(pid), string.format('%011.0f ~ %s', math.max(had, at), base))
    return {'FOREIGN', dec(now), era}
  end
  if part(pid) == 1 and (ARGV[OWN + 8] or '') ~= '' then
    local answer = claim_of(0, int(OWN + 6), ARGV[OWN + 7], ARGV[OWN + 8])
    if answer then
      -- The short limit stays: the holder generates up to it until it has switched. But copies of one process would show the
      -- same token for the move, and get the same pid: the second to come is found out by its nonce, as at every renewal.
      call('HSET', key, dec(pid), string.format('%011.0f %s %s', math.max(had, at), nonce, base))
      answer[1] = 'MOVED'
      return answer
    end
  end
  -- The limit never falls: what was granted may be in use, even if the clock went back or an answer was lost.
  return grant(pid, had, math.max(tick(now + window(pid)), had, at), nonce, base)
end

-- A release proves nothing: it makes no record if the server has forgotten the old one.
local function release()
  local pid, base, position, had = int(OWN + 1), ARGV[OWN + 3], int(OWN + 5), int(OWN + 6)
  local record = call('HGET', key, dec(pid))
  local kind, at, rest = read(record)
  if kind == 'none' then
    return {'GONE', dec(now), dec(q[part(pid)]), era}
  elseif kind ~= 'held' or not own(record, at, rest, had) then
    return {'LOST', dec(now), era}
  end
  if registers and registered(pid) == base then
    -- IDs of the tick before the position were issued: a program that goes by registrations alone has to wait for its end.
    if epoch + position * unit + S > now then
      register(pid, base, position)
    else
      call('DEL', registration(pid))
    end
  end
  call('HSET', key, dec(pid), string.format('%011.0f', position))
  local x = index(part(pid))
  if pid >= pid_min and pid <= pid_max then
    x.list[#x.list + 1] = pid
  end
  if #x.list > LISTED then
    table.remove(x.list, 1)
    x.u, x.done, x.soonest = 0, 0, NEVER -- the search has to find that one
  end
  keep(part(pid), x)
  return {'OK', dec(now), era}
end

-- ---- init, finish, look ---------------------------------------------------------------------------------------------------

-- The operator says that no process of this app is running anywhere. g stays: a process that runs all the same has to prove its
-- right.
local function init()
  call('HSET', key, 'q', '0', 'q1', '0', 'i0', '', 'i1', '')
  return {'OK', dec(now), era}
end

-- The operator ends a holder's lease. The window stays as it is: it was granted, and may be in use. The nonce goes, so no
-- renewal or release fits any more. ~ is above all other nonces, so no late claim brings one back.
local function finish()
  local pid = int(OWN + 1)
  local record = call('HGET', key, dec(pid))
  local kind, at, rest = read(record)
  local _, base
  if kind == 'held' then
    _, base = nonce_and_base(record, rest)
  end
  if not base or base ~= ARGV[OWN + 2] then
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
  if who and not (kind == 'released' and is_base(who)) then
    -- Its end is worth a command even if that may be denied.
    local left = redis.pcall('PTTL', registration(pid))
    kind, base = 'foreign', shown(who)
    ends = type(left) == 'number' and left > 0 and dec(tick(now + left)) or '-'
  end
  if kind ~= 'none' then
    answer[#answer + 1] = table.concat({dec(pid), kind, ends, base or '-'}, ' ')
  end
end

local function records(first, count)
  local names = {}
  for i = 1, count do
    names[i] = first + i - 1
  end
  return call('HMGET', key, unpack(names))
end

local function look(known, state)
  local first = math.max(int(OWN + 1), pid_min)
  local count = math.max(0, math.min(256, pid_max - first + 1))
  local answer = {'OK', dec(now), known, meta.lay or '-', meta.q or '-', meta.g or '-', state, ''}
  local bytes, seen = 0, 0
  for i, record in ipairs(count > 0 and records(first, count) or {}) do
    local before = #answer
    tell(answer, first + i - 1, record)
    seen, bytes = i, bytes + (#answer > before and #answer[#answer] or 0)
    if bytes > 16000 then
      break -- the client has room for little more
    end
  end
  answer[8] = dec(first + seen)
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
-- knows is worse than nothing. In W and S from now every window granted before has ended, and in w and S every short one. In S
-- from now every superseded server has granted its last window. All rests on clocks that differ by S at most.
local function forget(lay, inc)
  q, g = {[0] = tick(now + W + S) + 1, [1] = tick(now + w + S) + 1}, tick(now + S) + 1
  meta = {lay = lay, inc = inc, q = dec(q[0]), g = dec(g)}
  for k = 0, w > 0 and 1 or 0 do
    meta['i' .. k] = index_text(q[k], 0, 0, NEVER, {}) -- nothing but what is released fits before q
  end
  if w > 0 then
    meta.q1 = dec(q[1])
  end
  -- DEL of a large hash takes milliseconds. A user from before may lack the permission.
  local unlinked = redis.pcall('UNLINK', key)
  if type(unlinked) == 'table' and unlinked.err then
    call('DEL', key)
  end
  local fields = {}
  for name, value in pairs(meta) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  call('HSET', key, unpack(fields))
end

local ops = {claim = claim, renew = renew, release = release, init = init, finish = finish, look = look}
assert(ops[op], 'argument 1 is not an operation')

local function exchange()
  local word = refused()
  if word then
    return {word, dec(now)}
  end
  local lay = string.format('%s/%s@%s %s %s', bits, dec(unit), dec(epoch), dec(W), dec(S))
  if w > 0 then
    lay = lay .. ' ' .. dec(w) .. '/' .. dec(share)
  end
  if min_good > 0 then
    lay = lay .. ' min ' .. dec(min_good)
  end
  local names = {'lay', 'inc', 'q', 'q1', 'g', 'i0', 'i1', 'p'}
  for i, value in ipairs(call('HMGET', key, unpack(names))) do
    meta[names[i]] = value or nil
  end
  if meta.lay and meta.lay ~= lay then
    return {'LAYOUT', dec(now), meta.lay}
  end
  local about, replication = call('INFO', 'server'), call('INFO', 'replication')
  local inc = incarnation(about, replication)
  if not inc then
    return {'NOINFO', dec(now)}
  elseif misses_tag(about) then
    return {'TAG', dec(now)}
  end
  if string.find(about, '_mode:cluster', 1, true) then
    local at = place()
    if not at then
      return {'MOVING', dec(now)}
    end
    inc = inc .. ':' .. at
  end
  t, q, g = tick(now), {[0] = tonumber(meta.q), [1] = tonumber(meta.q1)}, tonumber(meta.g)
  local known = not meta.lay and 'none' or (meta.inc == inc and q[0] and (w == 0 or q[1]) and g) and 'current' or 'old'
  local state = redis.sha1hex((meta.inc or '-') .. ' ' .. (meta.g or '-') .. ' ' .. inc)
  if op == 'look' then
    return look(known, state)
  elseif is_alone(replication) then
    return {err = 'NOREPLICAS Not enough good replicas to write.'}
  elseif op == 'init' and ARGV[OWN + 1] ~= '' and ARGV[OWN + 1] ~= state then
    return {'CHANGED', dec(now)}
  end
  if known ~= 'current' then
    forget(lay, inc)
  end
  pxat, era = knows_pxat(about), string.sub(redis.sha1hex(inc .. ' ' .. dec(g)), 1, 8)
  local answer = ops[op]()
  answer[#answer + 1] = stranger
  return answer
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
