package webgraph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/gonutch/crawler/core/internal/urlkey"
)

// Rules say which links become part of a graph.
type Rules struct {
	// IgnoreInternalHost and IgnoreInternalDomain leave out links within a host or a
	// registered domain.
	IgnoreInternalHost   bool `json:"ignoreInternalHost"`
	IgnoreInternalDomain bool `json:"ignoreInternalDomain"`
	// LimitPage and LimitDomain take one link of a page to each page (a URL without
	// its query) or domain, the first in the page; and have LinkRank count one
	// inlink of a page from each, the first by key.
	LimitPage   bool `json:"limitPage"`
	LimitDomain bool `json:"limitDomain"`
	// DeleteGone leaves out links to pages that were handed to AddGone.
	DeleteGone bool `json:"deleteGone"`
}

// Options configure a Builder.
type Options struct {
	Rules
	Memory   int64 // bytes of all sort buffers; 0 is 128 MiB
	Now      time.Time
	Progress func(phase string, done int64) // may be nil; called often
}

// Meta describes a built graph.
type Meta struct {
	Version   int              `json:"version"`
	Created   time.Time        `json:"created"`
	Rules     Rules            `json:"rules"`
	Pages     int64            `json:"pages"` // nodes that were fetched
	Nodes     uint32           `json:"nodes"`
	Links     uint64           `json:"links"`
	Counted   uint64           `json:"countedLinks"` // by LinkRank
	Dangling  uint32           `json:"dangling"`     // nodes without outlinks
	Dropped   map[string]int64 `json:"dropped"`      // links not taken, by reason
	Hosts     uint32           `json:"hosts"`
	HostLinks uint64           `json:"hostLinks"`
}

const (
	version  = 1
	maxNodes = 1<<31 - 1
	passed   = 1 << 31 // bit of an inlink that LinkRank passes over
)

// Builder makes a graph. It is not safe for concurrent use; Close must be called.
type Builder struct {
	o       Options
	dir     string
	tmp     string
	unlock  func() error
	pages   *column // keys of pages, in order
	gone    *column
	targets *sorter[named]
	meta    Meta
	last    [2]urlkey.Key
	seen    map[string]struct{}
	done    int64
}

// Beside a graph's folder: the one that is being made, and the one that it replaces.
const (
	newSuffix = ".webgraph-new"
	oldSuffix = ".webgraph-old"
)

// NewBuilder begins a graph that will replace the one in dir. It fails when
// another process builds or ranks it, and with ErrOther when something else is there.
func NewBuilder(dir string, o Options) (*Builder, error) {
	dir = filepath.Clean(dir) // names beside it are made of it
	if err := replaceable(dir); err != nil {
		return nil, err
	}
	unlock, err := Lock(dir)
	if err != nil {
		return nil, err
	}
	b := &Builder{o: o, dir: dir, tmp: dir + newSuffix, unlock: unlock, seen: map[string]struct{}{}}
	b.o.Memory = cmp.Or(o.Memory, 128<<20)
	b.meta = Meta{Version: version, Created: o.Now, Rules: o.Rules, Dropped: map[string]int64{}}
	err = os.RemoveAll(b.tmp) // left by a process that was killed
	if err == nil {
		err = os.MkdirAll(filepath.Join(b.tmp, "hosts"), 0o755)
	}
	if err == nil {
		b.pages, err = createColumn(b.tmp, "pages")
	}
	if err == nil {
		b.gone, err = createColumn(b.tmp, "gone")
	}
	if err == nil {
		b.targets, err = sorterIn(b.tmp, "targets", b.o.Memory/2, namedCodec())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("begin graph in %s: %w", dir, err), b.Close())
	}
	return b, nil
}

// ErrOther says that a graph would replace what is none.
var ErrOther = errors.New("this is no link graph, and a graph would replace it; name another folder")

// replaceable reports ErrOther unless dir is a graph, an empty folder, or nothing.
func replaceable(dir string) error {
	var m Meta
	if err := readJSON(dir, "meta.json", &m); err == nil && m.Version > 0 {
		if _, err := os.Stat(filepath.Join(dir, "nodes.keys")); err == nil {
			return nil
		}
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	return fmt.Errorf("build graph in %s: %w", dir, ErrOther)
}

// sorterIn makes a sorter with a folder of its own.
func sorterIn[T any](dir, name string, memory int64, c codec[T]) (*sorter[T], error) {
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("sort %s: %w", name, err)
	}
	return newSorter(dir, int(memory), c), nil
}

// Close takes away what is not finished.
func (b *Builder) Close() error {
	for _, c := range []*column{b.pages, b.gone} {
		if c != nil {
			_ = c.f.Close() // closed already after Finish
		}
	}
	err := os.RemoveAll(b.tmp)
	if b.unlock != nil {
		err = errors.Join(err, b.unlock())
		b.unlock = nil
	}
	return err
}

func (b *Builder) tick(phase string) {
	if b.done++; b.o.Progress != nil {
		b.o.Progress(phase, b.done)
	}
}

// AddGone notes a page that is gone or redirects elsewhere. Keys must ascend.
func (b *Builder) AddGone(key urlkey.Key) error {
	if key <= b.last[1] {
		return fmt.Errorf("page %q is not after %q", key, b.last[1])
	}
	b.last[1] = key
	b.gone.text(string(key) + "\x00")
	return b.gone.err
}

// AddPage adds a page with its links, in the page's order. Keys must ascend.
func (b *Builder) AddPage(key urlkey.Key, links []urlkey.Key) error {
	if key <= b.last[0] {
		return fmt.Errorf("page %q is not after %q", key, b.last[0])
	}
	b.last[0] = key
	b.pages.text(string(key) + "\x00")
	seq := uint64(b.meta.Pages)
	b.meta.Pages++
	clear(b.seen)
	host := HostKey(string(key))
	domain := domainOf(host)
	for _, l := range links {
		if why := b.judge(key, host, domain, l); why != "" {
			b.meta.Dropped[why]++
			continue
		}
		if err := b.targets.add(named{string(l), seq}); err != nil {
			return err
		}
	}
	b.tick("pages")
	return b.pages.err
}

// judge returns why a link is not taken, or "".
func (b *Builder) judge(key urlkey.Key, host, domain string, l urlkey.Key) string {
	toHost := HostKey(string(l))
	r := &b.o.Rules
	switch {
	case l == key:
		return "self"
	case r.IgnoreInternalHost && toHost == host:
		return "internal host"
	}
	toDomain := ""
	if r.IgnoreInternalDomain || r.LimitDomain {
		toDomain = domainOf(toHost)
	}
	if r.IgnoreInternalDomain && toDomain == domain {
		return "internal domain"
	}
	if b.repeated("u" + string(l)) {
		return "duplicate"
	}
	if r.LimitPage && b.repeated("p"+pageOf(string(l))) {
		return "page limit"
	}
	if r.LimitDomain && b.repeated("d"+toDomain) {
		return "domain limit"
	}
	return ""
}

func (b *Builder) repeated(s string) bool {
	_, ok := b.seen[s]
	b.seen[s] = struct{}{}
	return ok
}

// pageOf is a key without its query, Nutch's URLUtil.getPage.
func pageOf(key string) string {
	page, _, _ := strings.Cut(key, "?")
	return page
}

// HostKey is the part of a key that all pages of a host have in common, with the
// colon; "!" for URLs without one.
func HostKey(key string) string {
	if strings.HasPrefix(key, "!") {
		return "!"
	}
	from := 0
	if strings.HasPrefix(key, "[") {
		from = strings.IndexByte(key, ']') + 1
	}
	if i := strings.IndexByte(key[from:], ':'); i >= 0 {
		return key[:from+i+1]
	}
	return key
}

// HostName is the host whose HostKey is key; "" for "!".
func HostName(key string) string {
	u, err := urlkey.ToURL(urlkey.Key(key + "http/"))
	if err != nil || key == "!" {
		return ""
	}
	return urlkey.Host(u)
}

func domainOf(hostKey string) string { return urlkey.DomainOf(HostName(hostKey)) }

// Finish builds the graph and puts it in the place of the former one, whose scores go
// with it.
func (b *Builder) Finish(ctx context.Context) (Meta, error) {
	if err := b.finish(ctx); err != nil {
		return b.meta, fmt.Errorf("build graph in %s: %w", b.dir, err)
	}
	return b.meta, nil
}

func (b *Builder) finish(ctx context.Context) error {
	if err := closeAll(b.pages, b.gone); err != nil {
		return err
	}
	links, err := sorterIn(b.tmp, "links", b.o.Memory/2, tripleCodec())
	if err != nil {
		return err
	}
	b.done = 0
	first, err := b.number(ctx, links)
	if err != nil {
		return err
	}
	b.targets = nil // its memory is for others now
	in, err := sorterIn(b.tmp, "inlinks", b.o.Memory/2, tripleCodec())
	if err != nil {
		return err
	}
	hosts, err := sorterIn(b.tmp, "hostlinks", b.o.Memory/4, tripleCodec())
	if err != nil {
		return err
	}
	if err := b.outlinks(ctx, links, in, hosts, first); err != nil {
		return err
	}
	b.done = 0
	if b.meta.Counted, err = b.inlinks(ctx, b.tmp, b.meta.Nodes, in); err != nil {
		return err
	}
	if err := b.hostGraph(ctx, hosts); err != nil {
		return err
	}
	for _, name := range []string{"pages", "gone", "ids", "targets", "links", "inlinks", "hostlinks", "hostin"} {
		if err := os.RemoveAll(filepath.Join(b.tmp, name)); err != nil {
			return err
		}
	}
	if err := writeJSON(b.tmp, "meta.json", b.meta); err != nil {
		return err
	}
	return b.replace()
}

// replace puts the new folder in the place of the old one.
func (b *Builder) replace() error {
	old := b.dir + oldSuffix
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(b.dir, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(b.tmp, b.dir); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

func writeJSON(dir, name string, v any) error {
	c, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := createColumn(dir, name+".tmp")
	if err != nil {
		return err
	}
	tmp.bytes(c)
	if err := tmp.close(); err != nil {
		return err
	}
	return os.Rename(tmp.f.Name(), filepath.Join(dir, name))
}

// group is what LinkRank counts one inlink of.
func (b *Builder) group(key string) uint64 {
	switch {
	case b.o.LimitDomain:
		return xxhash.Sum64String(domainOf(HostKey(key)))
	case b.o.LimitPage:
		return xxhash.Sum64String(pageOf(key))
	}
	return 0
}

// hostOf finds a node's host by the first nodes of all hosts.
func hostOf(first []uint32, node uint32) uint32 {
	return uint32(sort.Search(len(first), func(i int) bool { return first[i] > node }) - 1)
}
