-- The rig's one kind of transaction: a pair of rows and a count.

-- name: rig_put_first
INSERT INTO rig_first (id, note) VALUES ($1, 'pair')

-- name: rig_put_second
INSERT INTO rig_second (id, body) VALUES ($1, $2)

-- name: rig_count
UPDATE rig_counter SET n = n + 1 WHERE one = 1

-- name: rig_get
SELECT f.id FROM rig_first f JOIN rig_second s ON s.id = f.id WHERE f.id = $1
