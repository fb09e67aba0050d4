-- Tries to sign in (ID-8).

-- name: tries_add
-- Counts a try; the window begins anew where the last one is over ($3: before this it is).
INSERT INTO signin (who, tries, since) VALUES ($1, 1, $2)
ON CONFLICT (who) DO UPDATE SET
	tries = CASE WHEN signin.since < $3 THEN 1 ELSE signin.tries + 1 END,
	since = CASE WHEN signin.since < $3 THEN $2 ELSE signin.since END

-- name: tries_get
SELECT tries, since FROM signin WHERE who = $1

-- name: tries_forget
DELETE FROM signin WHERE who = $1

-- name: tries_take_back
UPDATE signin SET tries = tries - 1 WHERE who = $1 AND tries > 0

-- name: tries_forget_old
DELETE FROM signin WHERE since < $1
