/* SPDX-License-Identifier: MIT */
/* rules.h - the script's rules, each as an edit that takes it out. */
#ifndef SFID_TESTS_RULES_H
#define SFID_TESTS_RULES_H

struct rule {
    const char *name;
    const char *from, *to;         /* a text that the script has once, and what stands in its place */
    const char *test;              /* of tests/redis, that finds it missing */
    enum { NO, SOON, LATE } games; /* without it two leases get the same tick: the random games find it, some only in long runs */
};

static const struct rule rules[] = {
    /* ---- what is forgotten, and how long it may go on ---- */
    {"run_id is part of the incarnation", "run and before and run .. ':' .. before", "run and before", "forget", LATE},
    {"master_replid2 is part of the incarnation", "run and before and run .. ':' .. before", "before and run", "forget", SOON},
    {"another incarnation begins anew", "(meta[2] == inc and q and g)", "(q and g)", "forget", SOON},
    {"a hash without q or g begins anew", "(meta[2] == inc and q and g)", "meta[2] == inc", "forget", NO},
    {"beginning anew forgets the records", "call('DEL', key)\n", "\n", "forget", SOON},
    {"q: W", "q, g = tick(now + W + S) + 1", "q, g = tick(now + S) + 1", "claim", SOON},
    {"q: S", "q, g = tick(now + W + S) + 1", "q, g = tick(now + W) + 1", "claim", SOON},
    {"q: rounded up", "q, g = tick(now + W + S) + 1", "q, g = tick(now + W + S)", "claim", NO},
    {"g: S", "tick(now + S) + 1\n", "tick(now) + 1\n", "claim", SOON},
    {"g: rounded up", "tick(now + S) + 1\n", "tick(now + S)\n", "claim", LATE},
    {"ticks are rounded down", "math.floor((ms - epoch) / unit)", "math.ceil((ms - epoch) / unit)", "claim", NO},

    /* ---- claims ---- */
    {"no record: not before q", "if t >= q then\n", "if true then\n", "claim", SOON},
    {"no record: nothing ahead of time", "if t >= q then\nreturn t, limit\n", "if limit > q then\nreturn math.max(t, q), limit\n",
     "claim", SOON},
    {"released: from the position on", "if at <= t + 1 then\nreturn math.max(t, at), limit\n", "if true then\nreturn t, limit\n",
     "claim", SOON},
    {"released: the tick before it is not granted", "return math.max(t, at), limit\n", "return t, limit\n", "claim", SOON},
    {"released: no further ahead than a tick", "if at <= t + 1 then", "if at <= t + 2 then", "claim", NO},
    {"released: before q", "if at <= t + 1 then", "if t >= q and at <= t + 1 then", "claim", NO},
    {"again: the same pid", "kind == 'held' and mine then", "false then", "claim", NO},
    {"again: not before what was granted", "math.max(t, at - W / unit + 1), math.max(limit, at)", "t, math.max(limit, at)", "claim",
     NO},
    {"again: no shorter", "at - W / unit + 1), math.max(limit, at)", "at - W / unit + 1), limit", "claim", SOON},
    {"again: the whole base", "string.sub(record, -#base - 1) == ' ' .. base", "string.sub(record, -#base) == base", "claim", NO},
    {"again: a later nonce stays", "mine and recorded_nonce > nonce and recorded_nonce or nonce", "nonce", "claim", NO},
    {"again: an earlier nonce does not", "recorded_nonce > nonce and ", "", "claim", NO},
    {"held: not before its limit", "local free = math.max(at, q)", "local free = q", "claim", SOON},
    {"held: not before q", "local free = math.max(at, q)", "local free = at", "claim", LATE},
    {"the range of pids", "pid_max - pid_min + 1\n", "pid_max - pid_min + 2\n", "claim", NO},
    {"the tick that comes first", "math.min(from, soonest or from)", "from", "claim", NO},
    {"so many records a call", "math.min(pids, 4096)", "pids", "many", NO},
    {"where to go on", "dec(pid_min + (start + looked) % pids)", "dec(pid_min + start)", "many", NO},
    {"the clock is read once", "local time = call('TIME')", "call('TIME')\nlocal time = call('TIME')", "many", NO},
    {"all digits", "return string.format('%.0f', x)", "return tostring(x)", "claim", NO},
    {"any number of digits", "'^(%d+) ?()'", "'^(%d%d%d%d%d%d%d%d%d%d%d)%d* ?()'", "claim", NO},

    /* ---- renewals and releases ---- */
    {"forgotten: the holder's limit has to show it", "if had < g then", "if false then", "renew", SOON},
    {"renewed: the base", "if base ~= ARGV[14] then", "if false then", "renew", NO},
    {"renewed: the nonce", "return nonce == ARGV[15]", "return true", "renew", NO},
    {"renewed: the nonce before", "elseif nonce == ARGV[13] then", "elseif false then", "renew", NO},
    {"renewed: the nonce of now", "return nonce == ARGV[15]", "return false", "renew", NO},
    {"renewed: base and nonce", "local nonce, base = nonce_and_base(record, rest)\nif",
     "local nonce, base = ARGV[15], ARGV[14]\nif", "renew", SOON},
    {"renewed: the record that granted the holder's limit", "return at - W / unit < limit_held", "return true", "renew", LATE},
    {"renewed: not one made at that limit", "return at - W / unit < limit_held", "return at - W / unit <= limit_held", "renew", NO},
    {"renewed: not what was released", "at = 0\nelseif kind ~= 'held' or not", "at = 0\nelseif kind == 'held' and not", "renew",
     NO},
    {"renewed: no shorter", "math.max(limit, had, at)", "limit", "renew", SOON},
    {"renewed: no shorter than the holder's", "math.max(limit, had, at)", "math.max(limit, at)", "renew", SOON},
    {"renewed: no shorter than on record", "math.max(limit, had, at)", "math.max(limit, had)", "renew", LATE},
    {"released: the position is what the holder says", "string.format('%011.0f', position)", "string.format('%011.0f', t)", "renew",
     SOON},
    {"released: no testimony",
     "read(record)\nif kind == 'none' then\nreturn {'GONE', dec(now), dec(q), era}\nelseif kind ~= 'held' or not own",
     "read(record)\nif kind == 'held' and not own", "renew", SOON},

    /* ---- registrations ---- */
    {"registered with each grant", "if registers then\nlocal ends", "if false then\nlocal ends", "registration", NO},
    {"registered until the limit", "local ends = epoch + l * unit", "local ends = epoch + limit * unit + 1", "registration", NO},
    {"registered no longer than that", "'PXAT', dec(ends))", "'PXAT', dec(ends + 1000))", "registration", NO},
    {"registered no shorter than that", "'PXAT', dec(ends))", "'PXAT', dec(ends - 1000))", "registration", NO},
    {"nor on servers that know no absolute time", "'PX', dec(ends - now))", "'PX', dec(ends - now - 1000))", "registration", NO},
    {"SET as the server knows it", "if pxat then", "if true then", "registration", NO},
    {"a foreign registration is passed over", "if foreign(pid, base, recorded) then", "if false then", "registration", NO},
    {"nor is one renewed over", "if had <= t and foreign(pid, base, base) then", "if false then", "registration", NO},
    {"what is not on record is not registered", "redis.pcall('DEL', registration(pid))", "do end", "refuse", NO},
    {"one's own is not foreign", "who ~= base and who ~= recorded", "who ~= recorded", "registration", NO},
    {"what the record left is not foreign", "who ~= base and who ~= recorded", "who ~= base", "registration", NO},
    {"a release deletes it", "if registers and registered(pid) == base then", "if false then", "registration", NO},
    {"a release deletes one's own alone", "if registers and registered(pid) == base then", "if registers then", "registration", NO},
    {"a cluster wants a hash tag", "elseif misses_tag(about) then", "elseif false then", "registration", NO},
    {"low byte first", "string.char(pid % 256, math.floor(pid / 256))", "string.char(math.floor(pid / 256), pid % 256)",
     "registration", NO},

    /* ---- refusals ---- */
    {"not before the epoch", "if now < epoch then", "if false then", "refuse", NO},
    {"clocks near each other", "elseif max_skew > 0 and math.abs(host - now) > max_skew then", "elseif false then", "refuse", NO},
    {"one layout", "if meta[1] and meta[1] ~= lay then", "if false then", "refuse", NO},
    {"layout: bits", "'%s/%s@%s %s %s', bits, ", "'%s/%s@%s %s %s', '-', ", "refuse", NO},
    {"layout: unit", "bits, dec(unit), ", "bits, '-', ", "refuse", NO},
    {"layout: epoch", "dec(epoch), dec(W), dec(S))", "'-', dec(W), dec(S))", "refuse", NO},
    {"layout: W", "dec(W), dec(S))", "'-', dec(S))", "refuse", NO},
    {"layout: S", "dec(W), dec(S))", "dec(W), '-')", "refuse", NO},
    {"an INFO that tells nothing", "if not inc then\nreturn {'NOINFO', dec(now)}\nelseif", "inc = inc or '-'\nif", "refuse", NO},
    {"not without replicas, where they are asked for", "elseif is_alone(replication) then", "elseif false then", "refuse", NO},
    {"errors begin with their word", "string.match(text, '^@user_script: *%d+: %-?(.*)') or text", "text", "refuse", NO},
    {"what is not permitted is told", "local what = denied(text)", "local what = false", "refuse", NO},

    /* ---- the operator ---- */
    {"init: g stays", "call('HSET', key, 'q', '0')", "call('HSET', key, 'q', '0', 'g', '0')", "operator", NO},
    {"init: what was seen", "ARGV[12] ~= '' and ARGV[12] ~= state", "false", "operator", NO},
    {"init: on the server that was seen", "(meta[4] or '-') .. ' ' .. inc)", "(meta[4] or '-'))", "operator", NO},
    {"init: on the hash that was seen", "(meta[4] or '-') .. ' ' .. inc)", "inc)", "operator", NO},
    {"finish: the window stays", "string.format('%011.0f ~ %s', at, base)", "string.format('%011.0f ~ %s', t, base)", "operator",
     SOON},
    {"finish: no renewal fits", "call('HSET', key, dec(pid), string.format('%011.0f ~ %s', at, base))\n", "\n", "operator", NO},
    {"finish: the holder that was seen", "if not base or base ~= ARGV[13] then", "if not base then", "operator", NO},
    {"looking writes nothing", "if op == 'look' then\n", "if op == 'look' then\ncall('HSET', key, 'seen', '1')\n", "operator", NO},
};

enum { RULES = sizeof rules / sizeof rules[0] };

#endif
