-- SPDX-License-Identifier: MIT
-- What only reads IDs.
CREATE EXTENSION sfid;
SET timezone = 'UTC';

SELECT sfid_time(1541815603606036480, 'twitter'), sfid_pid(1541815603606036480, 'twitter'), sfid_seq(1541815603606036480, 'twitter');
SELECT sfid_time(268435456), sfid_pid(268435456 + 3 * 131072 + 7), sfid_seq(268435456 + 3 * 131072 + 7);
SELECT l, sfid_pid(1541815603606036480, l) FROM unnest(ARRAY['twitter', '41:10:12/1ms@1288834974657', 'discord', 'twitter']) l;

-- Bounds.
SELECT sfid_min('2025-12-22 00:00:01.999'), sfid_max('2025-12-22 00:00:01');
SELECT sfid_min('-infinity'), sfid_max('-infinity'), sfid_min('1990-01-01'), sfid_min('infinity'), sfid_max('infinity');
SELECT sfid_min('2010-11-04 01:42:54.657999', 'twitter'), sfid_max('2010-11-04 01:42:54.658', 'twitter');
SELECT sfid_min('1969-12-31 23:59:59.9995', '41:10:12/1ms@-2'), sfid_min('1970-01-01', '41:10:12/1ms@-2');

-- Text.
SELECT sfid_to_hex(255), sfid_to_base32(255), sfid_to_base62(1541815603606036480);
SELECT sfid_from_hex('FF'), sfid_from_base32('7z'), sfid_from_base62('1ptWyK4WgZU');

-- UUIDs of version 7.
SELECT sfid_uuid7_min('2022-02-22 19:22:22'), sfid_uuid7_max('2022-02-22 19:22:22'),
    sfid_uuid7_time('017f22e2-79b0-7cc3-98c4-dc0c0c07398f');
SELECT sfid_uuid7_min('-infinity'), sfid_uuid7_max('infinity');

-- NULL, and what is none.
SELECT sfid_time(NULL), sfid_min(NULL), sfid_from_hex(NULL), sfid_pid(1, NULL);
SELECT sfid_time(-1);
SELECT sfid_seq(-5, 'twitter');
SELECT sfid_pid(1, 'nonsense');
SELECT sfid_time(1, repeat('9', 1000)) IS NULL;
SELECT sfid_from_base62('not an ID');
SELECT sfid_from_hex('');
SELECT sfid_to_hex(-1);
SELECT sfid_uuid7_time('00000000-0000-4000-8000-000000000000');
SELECT sfid_time(9223372036854775807, '62:0:1');

-- What the planner may do with them.
SELECT proname, pronargs, provolatile, proparallel, proisstrict FROM pg_proc WHERE proname ~ '^sfid_' ORDER BY 1, 2;
CREATE TABLE t (id bigint PRIMARY KEY, at timestamptz GENERATED ALWAYS AS (sfid_time(id, 'sfid')) STORED);
CREATE INDEX ON t (sfid_pid(id, 'sfid'));
CREATE INDEX ON t (sfid_pid(id));
INSERT INTO t VALUES (268435456);
SELECT * FROM t;
DROP TABLE t;
