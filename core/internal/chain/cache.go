package chain

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

const cacheShards = 64

// entryOverhead is what an entry takes beside its texts: two map slots, key and
// value.
const entryOverhead = 160

// resultCache remembers what the normalizers and filters made of a URL. It is
// bounded by bytes: each shard has two generations; when the young one has
// taken half of the shard's share, the old one is dropped and the young one
// becomes old. An entry that is asked for moves to the young generation.
type resultCache struct {
	half         int64 // bytes of one generation of one shard
	shards       [cacheShards]cacheShard
	hits, misses atomic.Int64
}

type cacheShard struct {
	mu         sync.Mutex
	young, old map[cacheKey]cacheValue
	bytes      int64 // of young
	_          [64]byte
}

type cacheKey struct {
	scope uint8
	url   string
}

// cacheValue is an outcome. Its plugin is an id that lives as long as the
// chains.
type cacheValue struct {
	url     string
	plugin  string
	reason  string
	dropped bool
}

// newResultCache returns nil when bytes is negative.
func newResultCache(bytes int64) *resultCache {
	if bytes < 0 {
		return nil
	}
	return &resultCache{half: max(bytes/cacheShards/2, 4<<10)}
}

func (c *resultCache) shard(k cacheKey) *cacheShard {
	return &c.shards[(xxhash.Sum64String(k.url)+uint64(k.scope))%cacheShards]
}

func (c *resultCache) get(scope uint8, url string) (cacheValue, bool) {
	k := cacheKey{scope, url}
	s := c.shard(k)
	s.mu.Lock()
	v, ok := s.young[k]
	if !ok {
		if v, ok = s.old[k]; ok {
			// The key in old owns its memory; k may be part of a page.
			k.url = v.keyOf(k.url)
			s.insert(c, k, v)
		}
	}
	s.mu.Unlock()
	return v, ok
}

// keyOf returns a text equal to url that may be kept.
func (v cacheValue) keyOf(url string) string {
	if v.url == url {
		return v.url
	}
	return strings.Clone(url)
}

// put remembers v. The texts are copied: they may be parts of pages and
// messages that must not stay in memory.
func (c *resultCache) put(scope uint8, url string, v cacheValue) {
	key := strings.Clone(url)
	if v.url == url {
		v.url = key
	} else {
		v.url = strings.Clone(v.url)
	}
	v.reason = strings.Clone(v.reason)
	k := cacheKey{scope, key}
	s := c.shard(k)
	s.mu.Lock()
	s.insert(c, k, v)
	s.mu.Unlock()
}

// insert is called with mu held.
func (s *cacheShard) insert(c *resultCache, k cacheKey, v cacheValue) {
	size := int64(entryOverhead + len(k.url) + len(v.reason))
	if v.url != k.url {
		size += int64(len(v.url))
	}
	if size > c.half {
		return
	}
	if s.bytes+size > c.half {
		s.old, s.young, s.bytes = s.young, nil, 0
	}
	if s.young == nil {
		s.young = make(map[cacheKey]cacheValue)
	}
	if _, ok := s.young[k]; !ok {
		s.bytes += size
	}
	s.young[k] = v
}
