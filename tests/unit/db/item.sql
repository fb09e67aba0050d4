-- name: item_add
INSERT INTO item (id, name, parent, amount, data, extreme) VALUES ($1, $2, $3, $4, $5, $6)

-- name: item_get
SELECT id, name, parent, amount, data, extreme FROM item WHERE id = $1

-- name: item_count
SELECT count(*) FROM item

-- name: item_delete
DELETE FROM item WHERE id = $1

-- name: item_raise
UPDATE item SET amount = amount + $1 WHERE amount >= $2

-- name: item_take
DELETE FROM item WHERE id = $1 RETURNING name, amount

-- name: item_ids
SELECT id FROM item ORDER BY id
