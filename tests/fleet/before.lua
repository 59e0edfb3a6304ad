-- SPDX-License-Identifier: MIT
-- The lease script as it was before short pids, for upgrade.c: commit cdb3436, without its comments.
local key, op, bits, registers = KEYS[1], ARGV[1], ARGV[2], ARGV[11] == '1'
local function int(i)
  return assert(tonumber(ARGV[i]), 'argument ' .. i .. ' is not a number')
end
local epoch, unit, W, S = int(3), int(4), int(5), int(6)
local host, max_skew, pid_min, pid_max = int(7), int(8), int(9), int(10)
assert(unit >= 1 and W >= 2 * unit and W % unit == 0, 'argument 5 is not a multiple of the unit, at least two')
assert(S >= 0 and pid_min >= 0 and pid_min <= pid_max and pid_max <= 65535, 'arguments 6, 9, 10')
local function dec(x)
  return string.format('%.0f', x)
end
local now, t, limit, q, g, era, pxat = 0, 0, 0, 0, 0, '', false
local function tick(ms)
  return math.floor((ms - epoch) / unit)
end
local function call(command, ...)
  local reply = redis.pcall(command, ...)
  if type(reply) == 'table' and reply.err then
    error({command, reply.err}, 0)
  end
  return reply
end
local function incarnation(about, replication)
  local run = string.match(about, 'run_id:(%x+)')
  local before = string.match(replication, 'master_replid2:(%x+)')
  return run and before and run .. ':' .. before
end
local function is_alone(replication)
  return string.find(replication, 'min_slaves_good_slaves:0', 1, true)
end
local function misses_tag(about)
  return registers and string.find(about, '_mode:cluster', 1, true) and not string.find(key, '^[^{]*{[^}]+}')
end
local function knows_pxat(about)
  local major, minor = string.match(about, 'redis_version:(%d+)%.(%d+)')
  return major and tonumber(major) * 100 + tonumber(minor) >= 602
end
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
local function nonce_and_base(record, rest)
  return string.match(record, '^(%S+) (.+)$', rest)
end
local function registration(pid)
  return key .. ':' .. string.char(pid % 256, math.floor(pid / 256))
end
local function registered(pid)
  local reply = redis.pcall('GET', registration(pid))
  if type(reply) ~= 'table' then
    return reply
  elseif string.find(reply.err, 'WRONGTYPE', 1, true) then
    return ''
  end
  error({'GET', reply.err}, 0)
end
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
local function offer(kind, at, mine)
  if kind == 'none' then
    if t >= q then
      return t, limit
    end
    return nil, q
  elseif kind == 'released' then
    if at <= t + 1 then
      return math.max(t, at), limit
    end
    return nil, at - 1
  elseif kind == 'held' and mine then
    return math.max(t, at - W / unit + 1), math.max(limit, at)
  elseif kind == 'held' then
    local free = math.max(at, q)
    if t >= free then
      return t, limit
    end
    return nil, free
  end
end
local function foreign(pid, base, recorded)
  local who = registers and registered(pid)
  return who and who ~= base and who ~= recorded
end
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
    return nil, tick(now + W / 3) + 1
  end
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
    if had < g then
      return {'GONE', dec(now), dec(q), era}
    end
    at = 0
  elseif kind ~= 'held' or not own(record, at, rest, had) then
    return {'LOST', dec(now), era}
  end
  if had <= t and foreign(pid, base, base) then
    return {'LOST', dec(now), era}
  end
  return grant(pid, had, math.max(limit, had, at), nonce, base)
end
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
local function init()
  call('HSET', key, 'q', '0')
  return {'OK', dec(now), era}
end
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
local function shown(who)
  return (string.gsub(string.sub(who, 1, 160), '[^ -~]', '?'))
end
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
local function refused()
  local time = call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  if now < epoch then
    return 'EPOCH'
  elseif max_skew > 0 and math.abs(host - now) > max_skew then
    return 'SKEW'
  end
end
local function forget(lay, inc)
  q, g = tick(now + W + S) + 1, tick(now + S) + 1
  call('DEL', key)
  call('HSET', key, 'lay', lay, 'inc', inc, 'q', dec(q), 'g', dec(g))
end
local ops = {claim = claim, renew = renew, release = release, init = init, finish = finish, look = look}
assert(ops[op], 'argument 1 is no operation')
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
if redis.replicate_commands then
  redis.replicate_commands()
end
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
return {err = string.match(text, '^@user_script: *%d+: %-?(.*)') or text}
