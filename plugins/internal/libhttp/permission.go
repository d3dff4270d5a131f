package libhttp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/gonutch/crawler/plugins/internal/libaddr"
)

// permission is a parsed AllowPrivate list.
type permission struct {
	policy *libaddr.Policy
	key    string // one for each list
}

// poolHost is the name of host in the pool of connections for requests with
// this permission, so that no request without it gets such a connection. It is
// never looked up.
func (p *permission) poolHost(host, port string) string {
	name := p.key + "." + strings.ReplaceAll(host, ":", "-")
	if port != "" {
		name += ":" + port
	}
	return name
}

// maxPermissions bounds the parsed lists kept; one crawl has a few.
const maxPermissions = 1024

// permission returns nil for an empty list.
func (f *Fetcher) permission(list []string) (*permission, error) {
	if len(list) == 0 {
		return nil, nil
	}
	joined := list[0]
	if len(list) > 1 {
		joined = strings.Join(list, "\n")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p, ok := f.policies[joined]; ok {
		return p, nil
	}
	policy, err := libaddr.ParsePolicy(list)
	if err != nil {
		return nil, fmt.Errorf("request's AllowPrivate: %w", err)
	}
	if len(f.policies) >= maxPermissions {
		clear(f.policies)
	}
	p := &permission{policy: policy, key: "allow-" + strconv.FormatUint(xxhash.Sum64String(joined), 16)}
	f.policies[joined] = p
	return p, nil
}
