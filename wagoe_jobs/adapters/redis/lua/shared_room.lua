-- needs: keys
-- What works jobs off goes on when the server's memory is full: it refuses the first write of a script that may take
-- some, but none behind a write that takes none, such as this one of no key at all.

redis.call('UNLINK', K.job(''))
