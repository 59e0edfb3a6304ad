-- SPDX-License-Identifier: MIT
--
-- Last part of the lease script (lease.lua): the other operations, and the exchange as a whole.

-- ---- eras -----------------------------------------------------------------------------------------------------------------

-- What the witness says of this server in its present role, or 0: the asker saw b and n of them.
local who, its_b, its_n = '', 0, 0
local why = '' -- the era began because of the witness

local function heed_witness()
  who = string.sub(redis.sha1hex(inc), 1, 8)
  local of, of_b, of_n = string.match(witness, '^(%x+)%-(%d+)%-(%d+)$')
  if of == who and #of_b <= 16 and #of_n <= 15 then
    its_b, its_n = tonumber(of_b), tonumber(of_n)
  end
end

-- If the server may have forgotten anything, all is forgotten: what an old file, a lagging replica or a former master still
-- knows is worse than nothing. In W and S from now every window granted before has ended, and in w and S every short one. In S
-- from now every superseded server has granted its last window. All rests on clocks that differ by S at most. Where the asker
-- says that the app is new, as the operator does with `init`, no pid has to wait. `damaged`: the witness shows it.
local function forget(is_new, damaged)
  q, g = {[0] = tick(now + W + S) + 1, [1] = tick(now + w + S) + 1}, tick(now + S) + 1
  if is_new then
    q = {[0] = t, [1] = t}
  end
  b, n = math.max(us, b, its_b) + 1, 0
  meta = {lay = lay, inc = inc, q = dec(q[0]), g = dec(g), b = dec(b), n = dec(n), d = damaged and '1' or nil}
  for k = 0, w > 0 and 1 or 0 do
    meta['i' .. k] = index_text(q[k], 0, 0, NEVER, {}) -- nothing but what is released fits before q
  end
  if w > 0 then
    meta.q1 = dec(q[1])
  end
  -- A server out of memory refuses this, but nothing more once a script has deleted something.
  call('HSET', key, 'p', '0')
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

-- ---- renew, release -------------------------------------------------------------------------------------------------------

-- Is the record the one that granted the holder its limit, or a later one that the holder asked for? A copied process has the
-- same base: the first of the two to renew leaves a nonce that the second does not know. And a claim may be held up for longer
-- than its lease while another holder has the pid. It then makes a record like the first, and a holder that has not renewed
-- since shows that claim's nonce. But such a record was made after the holder's limit. A renewal's nonce is only ever written to
-- a record of this holder that nobody else has had since; one that arrives late, and is granted again, raises its limit.
local function own(record, at, rest, limit_held, is_renewals)
  local nonce, base = nonce_and_base(record, rest)
  if base ~= ARGV[OWN + 3] then
    return false
  elseif nonce == ARGV[OWN + 2] then
    return is_renewals == '1' or at - claim_window() / unit < limit_held
  end
  return nonce == ARGV[OWN + 4]
end

local function token(base)
  return base and string.match(base, '[^:]*$')
end

-- Where the pid is another's, inside the window of a holder who was granted it, both may issue the same tick. Not so if it is one
-- lease: sharers show late nonces, and a host that was renamed has another base.
local function lost(record, rest, had)
  local _, base = nonce_and_base(record, rest or 1)
  return {had > t and token(base) ~= token(ARGV[OWN + 3]) and 'TAKEN' or 'LOST', dec(now)}
end

local function renew()
  local pid, base, nonce, had = int(OWN + 1), ARGV[OWN + 3], ARGV[OWN + 4], int(OWN + 5)
  local record = call('HGET', key, dec(pid))
  local kind, at, rest = read(record)
  if its_b == b and (kind == 'none' or kind == 'unreadable') then
    -- The asker was answered in this era, and no era deletes a record: somebody else did.
    forget(false, true)
    kind, why = 'none', ' damaged'
  end
  if kind == 'none' then
    -- The record was forgotten. The holder's own limit proves its right if nobody can have been granted the pid since.
    if had < g then
      return {'GONE', dec(now), wait_until(part(pid))}
    end
    at = 0
  elseif kind ~= 'held' or not own(record, at, rest, had, ARGV[OWN + 9]) then
    return lost(record, rest, had)
  end
  if foreign(pid) then
    -- A program that goes by registrations alone took the pid when ours was lost. It cannot be stopped, but the holder can. What
    -- was granted stays granted, and is not renewed again.
    must_write(pid, string.format('%011.0f ~ %s', math.max(had, at), base))
    return {'FOREIGN', dec(now)}
  end
  if part(pid) == 1 and (ARGV[OWN + 8] or '') ~= '' then
    local answer = claim_of(0, int(OWN + 6), ARGV[OWN + 7], ARGV[OWN + 8])
    if answer then
      -- The short limit stays: the holder generates up to it until it has switched. But copies of one process would show the
      -- same token for the move, and get the same pid: the second to come is found out by its nonce, as at every renewal.
      must_write(pid, string.format('%011.0f %s %s', math.max(had, at), nonce, base))
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
    return {'GONE', dec(now), wait_until(part(pid))}
  elseif kind ~= 'held' or not own(record, at, rest, had, ARGV[OWN + 7]) then
    return lost(record, rest, had)
  end
  local ours = registers and registered(pid) == base
  -- The record first, after all that is read: a server that may not write says so here, and nothing has changed. It refuses no
  -- second write, but for a command that is not permitted.
  must_write(pid, string.format('%011.0f', position))
  if ours then
    -- IDs of the tick before the position were issued: a program that goes by registrations alone has to wait for its end.
    if epoch + position * unit + S > now then
      register(pid, base, position)
    else
      call('DEL', registration(pid))
    end
  end
  local x = index(part(pid))
  if pid >= pid_min and pid <= pid_max then
    x.list[#x.list + 1] = pid
  end
  if #x.list > LISTED then
    table.remove(x.list, 1)
    x.u, x.done, x.soonest = 0, 0, NEVER -- the search has to find that one
  end
  keep(part(pid), x)
  return {'OK', dec(now)}
end

-- ---- init, finish, look ---------------------------------------------------------------------------------------------------

-- Is only the range of pids to change, while processes run?
local function is_range_alone()
  return op == 'init' and ARGV[OWN + 2] == '2'
end

-- Splits `lay` into all but the range of pids, and that range.
local function cut_range(text)
  local before, first, last, behind = string.match(text, '^([^#]*)#(%d+)%-(%d+)(.*)$')
  return (before or text) .. (behind or ''), tonumber(first or 0), tonumber(last or 65535)
end

-- Of all fields and their values: the pid outside of a range whose window or position is the last that lies behind `from`.
local function last_ahead(all, from, first, last)
  local pid, ends
  for i = 1, #all, 2 do
    local at = tonumber(string.match(all[i], '^%d+$') and string.match(all[i + 1], '^%d+'))
    if at and at > (ends or from) and (tonumber(all[i]) < first or tonumber(all[i]) > last) then
      pid, ends = all[i], at
    end
  end
  return pid, ends
end

-- A pid outside of the range may be lent by another server from now on, whose clock may be S behind this one. Also if the range is
-- there already: after a loss the first to come may have brought it, while others go on.
local function in_use_outside()
  local _, first, last = cut_range(wanted)
  if first == 0 and last == 65535 then
    return nil
  end
  local from, open = tick(now - S), math.max(q[0], q[1] or 0)
  local pid, ends = last_ahead(call('HGETALL', key), from, first, last)
  if not pid and is_range_alone() and from < open then
    pid, ends = '-', open
  end
  return pid and {'HELD', dec(now), pid, dec(ends + math.ceil(S / unit))}
end

-- The operator says that no process of this app is running anywhere, so every tick that was issued is over. Should the clock be
-- set back later, pids without a record wait until it is here again. g stays: a process that runs all the same has to prove its
-- right. With the range alone nothing is said of processes, and q stays.
local function init()
  local held = in_use_outside()
  if held then
    return held
  end
  n = n + 1
  call('HSET', key, 'lay', wanted, 'n', dec(n))
  if not is_range_alone() then
    call('HSET', key, 'q', dec(t), 'q1', dec(t), 'i0', '', 'i1', '')
  end
  return {'OK', dec(now)}
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
  must_write(pid, string.format('%011.0f ~ %s', at, base))
  return {'OK', dec(now), dec(at)}
end

-- For a foreign registration: anybody may have written anything.
local function shown(who)
  return (string.gsub(string.sub(who, 1, 160), '[^ -~]', '?'))
end

-- When a registration ends, in milliseconds from now; nothing if that is not known. Worth a command even if that may be denied.
local function registered_for(pid)
  local left = redis.pcall('PTTL', registration(pid))
  return type(left) == 'number' and left > 0 and left or nil
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
  if who and not is_base(who) then
    local left = registered_for(pid)
    kind, base, ends = 'foreign', shown(who), left and dec(tick(now + left)) or '-'
  elseif who and kind == 'none' then
    -- One of ours, S longer than the lease that the server has forgotten.
    local left = registered_for(pid)
    kind, base, ends = 'unshown', shown(who), left and dec(tick(now + left - S)) or '-'
  elseif kind == 'unreadable' then
    kind, base = 'unshown', who and shown(who) or '?'
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
  local answer = {'OK', dec(now), known, meta.lay or '-', q[0] and wait_until(0) or '-', meta.g or '-', state, ''}
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
  us = tonumber(time[1]) * 1000000 + tonumber(time[2])
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  if now < epoch then
    return 'EPOCH'
  elseif max_skew > 0 and math.abs(host - now) > max_skew then
    return 'SKEW'
  end
end

-- Nothing but what this script wrote is a number: Lua takes 'inf' for one, and 'nan'.
local function number(text)
  return text and string.find(text, '^%d+$') and tonumber(text)
end

-- Older rules, and all else as here.
local function is_older(theirs)
  local rules, rest = string.match(theirs, '^(%d+) (.*)')
  return tonumber(rules or 1) < tonumber(RULES) and (rest or theirs) == string.sub(lay, #RULES + 2)
end

-- May this be asked where the server lends a range? A pid outside of it may be another server's by now, but not while the window of
-- a holder is open: no range is set then. So after a loss a range that the first to come has brought ends no lease of those who were
-- started without one. Whoever names a range that the pid is in, and this is not it, may have been led to another server.
local function is_within(first, last)
  if op == 'renew' then
    local pid = int(OWN + 1)
    local inside = pid >= first and pid <= last
    if inside then
      pid_min, pid_max = math.max(pid_min, first), math.min(pid_max, last) -- it may ask for an ordinary pid, too
    end
    return inside or not string.find(bits, '#', 1, true) and int(OWN + 5) > tick(now)
  end
  return op == 'release' or op == 'finish' or is_range_alone() or pid_min >= first and pid_max <= last
end

local ops = {claim = claim, renew = renew, release = release, init = init, finish = finish, look = look}
assert(ops[op], 'argument 1 is not an operation')

local function exchange()
  local word = refused()
  if word then
    return {word, dec(now)}
  end
  lay = string.format('%s %s/%s@%s %s %s', RULES, bits, dec(unit), dec(epoch), dec(W), dec(S))
  if w > 0 then
    lay = lay .. ' ' .. dec(w) .. '/' .. dec(share)
  end
  if min_good > 0 then
    lay = lay .. ' min ' .. dec(min_good)
  end
  local names = {'lay', 'inc', 'q', 'q1', 'g', 'b', 'n', 'd', 'i0', 'i1', 'p'}
  for i, value in ipairs(call('HMGET', key, unpack(names))) do
    meta[names[i]] = value or nil
  end
  wanted = lay
  local rest, first, last = cut_range(meta.lay or lay)
  local barred = rest ~= cut_range(lay)
  if barred and not (is_older(meta.lay) and (op == 'look' or op == 'init' and ARGV[OWN + 2] == '1')) then
    return {'LAYOUT', dec(now), meta.lay}
  elseif meta.lay and not barred and not is_within(first, last) then
    return {'LAYOUT', dec(now), meta.lay}
  elseif not barred then
    lay = meta.lay or is_range_alone() and rest or lay
    wanted = (is_range_alone() or string.find(wanted, '#', 1, true)) and wanted or lay
  end
  local about, replication = call('INFO', 'server'), call('INFO', 'replication')
  inc = incarnation(about, replication)
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
  t, q, g = tick(now), {[0] = number(meta.q), [1] = number(meta.q1)}, number(meta.g)
  b, n = number(meta.b) or 0, number(meta.n)
  local known = not meta.lay and 'none' or barred and 'barred' or
    (meta.inc == inc and q[0] and (w == 0 or q[1]) and g and b > 0 and n) and 'current' or 'old'
  local state = redis.sha1hex((meta.inc or '-') .. ' ' .. (meta.b or meta.g or '-') .. ' ' .. inc)
  if op == 'look' then
    return look(known, state)
  elseif not is_master(replication) then
    return {err = 'READONLY this server is a replica, and leases come from its master alone'}
  elseif not is_atomic(about) then
    return {err = 'ERR this server may run scripts side by side, so two processes could get one pid'}
  elseif is_alone(replication) then
    return {err = 'NOREPLICAS Not enough good replicas to write.'}
  elseif op == 'init' and ARGV[OWN + 1] ~= '' and ARGV[OWN + 1] ~= state then
    return {'CHANGED', dec(now)}
  end
  local pid, ends = last_ahead(known == 'barred' and call('HGETALL', key) or {}, t, 1, 0) -- of all
  if pid then
    return {'HELD', dec(now), pid, dec(ends)}
  end
  heed_witness()
  if known == 'current' and (its_b > b or its_b == b and its_n > n) then
    known, why = 'old', ' older' -- it had come further than that: an old copy was put back
  end
  if known ~= 'current' then
    -- Of a hash of older rules nobody may be missing who is not past: it is of this server, and its q is over.
    local knew_all = known == 'barred' and meta.inc == inc and q[0] and t >= q[0]
    forget(knew_all or known == 'none' and op == 'claim' and ARGV[OWN + 4] == '1', why ~= '')
  end
  pxat = knows_pxat(about)
  local answer = known == 'barred' and {'OK', dec(now)} or ops[op]()
  if answer[1] ~= 'CHANGED' and answer[1] ~= 'HELD' then
    answer[#answer + 1] = who .. '-' .. dec(b) .. '-' .. dec(n) .. why
  end
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
