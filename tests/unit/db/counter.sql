-- name: counter_make
WITH RECURSIVE seq (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM seq WHERE i < $1)
INSERT INTO counter (id, n) SELECT i, 0 FROM seq

-- name: counter_all
SELECT id, n FROM counter ORDER BY id

-- name: counter_lock
SELECT n FROM counter WHERE id = $1
-- name: counter_lock postgres
SELECT n FROM counter WHERE id = $1 FOR UPDATE

-- name: counter_set
UPDATE counter SET n = $2 WHERE id = $1

-- name: counter_get
SELECT n FROM counter WHERE id = $1
