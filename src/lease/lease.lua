-- SPDX-License-Identifier: MIT
--
-- The lease script: who may use which pid of an app, and for which ticks. It is in three files, which the build joins: this one
-- (terms and the server), lease_claim.lua, lease_exchange.lua. One EVAL is one exchange. All state lies in one
-- hash, and only this script changes it. It runs on Redis 5 and later and on Valkey. Each rule has its reason beside it.
-- Together they ensure that no two holders are ever granted the same tick of the same pid.
--
-- KEYS[1]  sfid:APP, and no other: the names of registrations are made from it. In a cluster those have to share its slot, so
--          APP needs a hash tag there ("{orders}") unless registration is off.
--
-- ARGV     numbers are decimal, times are Unix milliseconds
--   1 op   claim renew release init finish look
--   2 bits   the layout's fields as text without a space, such as 36:11:17; with the range that the server lends, 36:11:17#1-682
--   3 epoch   4 unit   5 W, the window: a multiple of the unit, at least two   6 S, the skew budget
--   7 clock of the asking host   8 how far it may be from the server's (0: any distance)
--   9 pid_min   10 pid_max   (both included, at most 65535)
--   11 registration: 1 or 0
--   12 w, the short window: a multiple of the unit, at least two; or 0: there is none
--   13 share: a power of two. One pid in `share`, those whose low bits are all ones, is short. 0 if w is 0
--   14 min_good: how many replicas have to be good
--   15 witness: the `era` that this app's server last granted something to the asker in, or had it wait in; or nothing
--   Each operation's own, counted from 1 behind those:
--   claim    1 first pid to look at   2 nonce   3 base   4 trust: 1 for `init`, too, if there is no hash
--   renew    1 pid   2 nonce of the last renewal answered   3 base   4 nonce of this one   5 limit that the holder has
--            6, 7, 8 as claim's 1, 2, 3, if the holder of a short pid wants an ordinary one; else they are empty
--            9 1: the nonce of 2 is a renewal's; else it may be the claim's
--   release  1 pid   2, 3, 4 as for renew   5 position: the first unused tick   6 limit that the holder has   7 as renew's 9
--   init     1 state that `look` returned, or nothing: in any state   2 1: an upgrade, for a hash of older rules, too; 2: the range
--            alone, which processes may go on using
--   finish   1 pid   2 base that `look` returned
--   look     1 first pid to list
--   A nonce has neither space nor line end. Of two nonces of one base the later one is above the other (as text). base is
--   machine:seq:TOKEN, and its TOKEN is never used for another lease. A claim or renewal without an answer is made again with
--   the same nonces and base. A release is sent once and never again.
--
-- Answers are arrays of strings: a word, the server's clock, and what goes with the word. Ticks and pids are decimal. `era` is
-- WHO-B-N: 8 hexadecimal digits of `inc`, b and n (below). If this exchange has begun the era because of the witness, a space and
-- a word follow: older (the hash is older than what the asker was answered) or damaged (the asker's record is gone).
--   claim    OK now lo limit pid era    the ticks lo <= t < limit of the pid are granted. lo lies at most one tick in the
--                                       future, except for a claim made again. limit is the tick of now + w (W if w is 0),
--                                       except for a claim made again after the server's clock was set back
--            RETRY now tick poll q era  nothing is known to fit before that tick unless a pid is released. Come again in poll
--                                       milliseconds. Before q, pids that the server knows nothing of have to wait;
--                                       0 in any answer: they have not.
--                                       After either, and a renewal's OK or MOVED: a pid, if one was passed over that a program
--                                       without a record registered
--   renew    OK now limit-before limit pid era    the window goes on from the holder's limit to this one, which is never lower
--            MOVED now lo limit pid era an ordinary pid, granted as to a claim. The short one has its nonce, and keeps its limit
--            LOST now era               another process has or had the pid since, or two processes showed this lease
--            TAKEN now era              the same, but for this lease, and the holder's window is open: both may be using it
--            FOREIGN now era            a program without a record has registered the pid, and may use it already
--            GONE now q era             the server has forgotten the lease, and another may have begun
--   release  OK now era, LOST now era, TAKEN now era, GONE now q era
--   init     OK now era                 from now on pids without a record are granted at once; after an upgrade only if the hash
--                                       was this server's, and its q past
--            CHANGED now                not done: the hash is not what `look` saw
--            HELD now pid tick          not done: older rules were to go, and this pid's record is of a tick to come; or the
--                                       range was to change, and until then a pid outside of it may be in use by another server's
--                                       clock (pid -: one that this server does not know)
--   finish   OK now limit era           the holder cannot renew any more: the pid comes free at the limit, as always
--            CHANGED now                not done: the pid is not held under that base
--   look     OK now known lay q g state next 'pid kind tick who'…
--                                       known: none (no hash, then lay q g are -), barred (older rules made it, and nothing but
--                                       an upgrade changes it), old (the next change forgets it) or current. Records
--                                       of the pids asked for, ascending; next is where to go on, pid_max + 1
--                                       at the end. kind: held (tick is the limit), ending (the same,
--                                       after `finish`), released (the first unused tick), unshown (a registration of ours without a
--                                       record: tick is the limit at most; or an unreadable record), or foreign (another
--                                       registration; tick is when it runs out). A tick that is not known is -. who: base or
--                                       registration (at most 160 characters, ? for unprintable ones), - if released. Writes
--                                       nothing
--   any      EPOCH now                  the server's clock is before the epoch
--            SKEW now                   the clocks of host and server differ by more than allowed
--            LAYOUT now lay             the app is used with other settings, or does not have all these pids here
--            TAG now                    a cluster, registration, and no hash tag in the app's name
--            MOVING now                 a cluster: the app's slot is moving to this node, which does not own it yet
--            NOINFO now                 INFO has no run_id, role or master_replid2: a proxy answers it
--            DENIED now command what    the user may not use the command or, if what is `key` and not `command`, this key
--   After one of these nothing was granted and, except for DENIED, nothing was written. Other errors of the server (READONLY,
--   OOM, MISCONF, NOREPLICAS, WRONGTYPE …) are returned as error replies that begin with that word.
--
-- The hash has no time to live: it exists as a whole or not at all.
--   lay   RULES bits/unit@epoch W S, then w/share if w > 0, then min N if min_good > 0. What is not of RULES here is left alone. If
--         bits has a range, the server lends these pids alone, also to who names none
--   inc   run_id:master_replid2 of the server that wrote it, and :config epoch in a cluster
--   q q1  before this tick a window may still be open that a forgotten server granted: of an ordinary, of a short pid; after
--         `init` its tick, so that a clock set back later brings nothing back
--   g     a limit from this tick on shows that nobody else can have begun
--   b n   when this era began, in microseconds of the server's clock, or later: above each b that the script could see; and how
--         many times a record has been written in it, or `init` was
--   i0 i1 where claims look, of the ordinary and of the short pids (see `index`): hints, which prove nothing
--   d     1: this era began because of the witness. Two may have been granted one pid before, so what one of them releases is not
--         free before q
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
local w, share, min_good, witness = int(12), int(13), int(14), ARGV[15]
local OWN = 15 -- arguments before the operation's own
local RULES = '2' -- of this script. Scripts of other rules refuse the hash, and this one theirs. Before 2 there was no number
assert(unit >= 1 and W >= 2 * unit and W % unit == 0, 'argument 5 has to be a multiple of the unit, at least two units')
assert(w == 0 and share == 0 or w >= 2 * unit and w % unit == 0 and 2 * w <= W and share >= 2, 'argument 12 or 13 is out of range')
assert(S >= 0 and pid_min >= 0 and pid_min <= pid_max and pid_max <= 65535, 'argument 6, 9 or 10 is out of range')

-- All digits of a bound: Lua's own conversion keeps 14.
local function dec(x)
  return string.format('%.0f', x)
end

-- exchange() sets these. us: now in microseconds; q[0] is of the ordinary pids, q[1] of the short ones; meta: the fields that are
-- no pid's; `pxat`: SET knows PXAT.
local us, now, t, q, g, b, n, pxat, meta = 0, 0, 0, {}, 0, 0, 0, false, {}
local lay, inc = '', '' -- what the hash has to have
local wanted = '' -- the same with the asker's range of pids in place of the hash's

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

-- What answers say of q: 0 once it is past.
local function wait_until(k)
  return dec(t < q[k] and q[k] or 0)
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

-- What INFO has to say, or nothing is granted: run_id and master_replid2 in hexadecimal digits, role:master; in a cluster its node
-- with an epoch, and no import of the slot; with min_good, how many replicas are good.

-- The server in its present role, or nothing. run_id changes at each start. It stays the same when a master becomes a replica
-- and then master again, and has missed what the other granted. master_replid2 changes with each promotion.
local function incarnation(about, replication)
  local run = string.match(about, 'run_id:(%x+)')
  local before = string.match(replication, 'master_replid2:(%x+)')
  return run and before and string.find(replication, 'role:%a') and run .. ':' .. before
end

-- A replica may be set to take writes. Its master does not get them, and grants the same pids.
local function is_master(replication)
  return string.find(replication, 'role:master', 1, true)
end

-- Garnet may run scripts side by side, and says so nowhere: two claims would get one pid.
local function is_atomic(about)
  return not string.find(about, 'garnet_version:', 1, true)
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
