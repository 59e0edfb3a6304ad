-- SPDX-License-Identifier: MIT
-- What makes IDs. Without the preload it says so: next_1.out.
CREATE TABLE made (id bigint PRIMARY KEY DEFAULT sfid_next(), n int);
INSERT INTO made (n) SELECT generate_series(1, 1000);
SELECT count(*), count(DISTINCT sfid_pid(id)), bool_and(abs(extract(epoch FROM now() - sfid_time(id))) < 60) FROM made;
SELECT count(*) FROM (SELECT id > lag(id) OVER (ORDER BY n) AS grows FROM made) s WHERE NOT grows;
SET sfid.layout = 'twitter';
SHOW sfid.max_wait;
SET sfid.max_wait = -1;
DROP TABLE made;
