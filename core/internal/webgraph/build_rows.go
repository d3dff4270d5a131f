package webgraph

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// checkEvery is after how many records a long loop looks whether it is to end.
const checkEvery = 1 << 14

// numbering gives keys their numbers, in ascending order.
type numbering struct {
	keys, off         *column
	hostKeys, hostOff *column
	first             []uint32 // node that begins each host
	last              string
	host              string
	n                 uint32
}

func (b *Builder) newNumbering() (*numbering, error) {
	var n numbering
	for _, c := range []struct {
		to   **column
		dir  string
		name string
	}{
		{&n.keys, b.tmp, "nodes.keys"},
		{&n.off, b.tmp, "nodes.off"},
		{&n.hostKeys, filepath.Join(b.tmp, "hosts"), "nodes.keys"},
		{&n.hostOff, filepath.Join(b.tmp, "hosts"), "nodes.off"},
	} {
		var err error
		if *c.to, err = createColumn(c.dir, c.name); err != nil {
			return nil, errors.Join(err, closeAll(n.keys, n.off, n.hostKeys, n.hostOff))
		}
	}
	return &n, nil
}

// add returns the number of key, which is the last one or a greater one.
func (n *numbering) add(key string) (uint32, error) {
	if n.n > 0 && key == n.last {
		return n.n - 1, nil
	}
	if n.n == maxNodes {
		return 0, fmt.Errorf("the graph has more than %d nodes", maxNodes)
	}
	if host := HostKey(key); n.n == 0 || host != n.host {
		n.host = host
		n.first = append(n.first, n.n)
		n.hostOff.u64(n.hostKeys.n)
		n.hostKeys.text(host + "\x00")
	}
	n.off.u64(n.keys.n)
	n.keys.text(key + "\x00")
	n.last = key
	n.n++
	return n.n - 1, n.keys.err
}

func (n *numbering) close() error {
	n.off.u64(n.keys.n)
	n.hostOff.u64(n.hostKeys.n)
	return closeAll(n.keys, n.off, n.hostKeys, n.hostOff)
}

// number merges pages and targets into the nodes, and hands on the links as page
// and target number.
func (b *Builder) number(ctx context.Context, links *sorter[triple]) (_ []uint32, err error) {
	n, err := b.newNumbering()
	if err != nil {
		return nil, err
	}
	ids, err := createColumn(b.tmp, "ids") // node of each page
	if err != nil {
		return nil, errors.Join(err, n.close())
	}
	defer func() { err = errors.Join(err, n.close(), ids.close()) }()
	pages, err := openStream(b.tmp, "pages")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pages.close()) }()
	gone, err := openStream(b.tmp, "gone")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, gone.close()) }()

	page, more := pages.key()
	dead, deads := gone.key()
	pagesUpTo := func(key string, all bool) error {
		for more && (all || page <= key) {
			id, err := n.add(page)
			if err != nil {
				return err
			}
			ids.u32(id)
			page, more = pages.key()
		}
		return nil
	}
	err = b.targets.each(func(v named) error {
		if b.done%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		b.tick("numbering")
		if err := pagesUpTo(v.key, false); err != nil {
			return err
		}
		for deads && dead < v.key {
			dead, deads = gone.key()
		}
		if b.o.DeleteGone && deads && dead == v.key && (n.n == 0 || n.last != v.key) {
			b.meta.Dropped["gone"]++
			return nil
		}
		id, err := n.add(v.key)
		if err != nil {
			return err
		}
		return links.add(triple{a: uint32(v.n), b: id})
	})
	if err == nil {
		err = pagesUpTo("", true)
	}
	b.meta.Nodes, b.meta.Hosts = n.n, uint32(len(n.first))
	return n.first, errors.Join(err, pages.err, gone.err)
}

// outlinks writes the rows of outlinks and hands on the links for the other
// direction and between hosts.
func (b *Builder) outlinks(ctx context.Context, links, in, hosts *sorter[triple], first []uint32) (err error) {
	out, err := createRows(b.tmp, "out")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close(b.meta.Nodes)) }()
	ids, err := openStream(b.tmp, "ids")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ids.close()) }()
	keys, err := openStream(b.tmp, "nodes.keys")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, keys.close()) }()
	var (
		seq, node uint32
		group     uint64
		read      int64 // pages and nodes whose number or key was read
		at        int64
		key       string
		host      uint32
		sources   uint32
	)
	b.done = 0
	err = links.each(func(v triple) error {
		if b.done%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		b.tick("links")
		if read == 0 || v.a != seq {
			seq = v.a
			sources++
			for ; read <= int64(seq); read++ {
				node = ids.u32()
			}
			for ; at <= int64(node); at++ {
				key, _ = keys.key()
			}
			if err := errors.Join(ids.err, keys.err); err != nil {
				return err
			}
			group, host = b.group(key), hostOf(first, node)
		}
		out.link(node, v.b)
		if to := hostOf(first, v.b); to != host {
			if err := hosts.add(triple{a: host, b: to}); err != nil {
				return err
			}
		}
		g := group
		if !b.o.LimitDomain && !b.o.LimitPage {
			g = uint64(node)
		}
		if err := in.add(triple{a: v.b, g: g, b: node}); err != nil {
			return err
		}
		return out.adj.err
	})
	b.meta.Links, b.meta.Dangling = out.links, b.meta.Nodes-sources
	if err != nil {
		return err
	}
	return writeNumbers(filepath.Join(b.tmp, "hosts"), "first", append(first, b.meta.Nodes))
}

func writeNumbers(dir, name string, v []uint32) error {
	c, err := createColumn(dir, name)
	if err != nil {
		return err
	}
	for _, x := range v {
		c.u32(x)
	}
	return c.close()
}

// inlinks writes the rows of inlinks of a graph of n nodes and marks those beyond the
// first of a group.
func (b *Builder) inlinks(ctx context.Context, dir string, n uint32, links *sorter[triple]) (counted uint64, err error) {
	in, err := createRows(dir, "in")
	if err != nil {
		return 0, err
	}
	var last triple
	err = links.each(func(v triple) error {
		if b.done%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		b.tick("inlinks")
		source := v.b
		if in.links > 0 && last.a == v.a && last.g == v.g {
			source |= passed
		} else {
			counted++
		}
		last = v
		in.link(v.a, source)
		return in.adj.err
	})
	return counted, errors.Join(err, in.close(n))
}

// hostGraph writes both directions of the host graph.
func (b *Builder) hostGraph(ctx context.Context, hosts *sorter[triple]) (err error) {
	dir := filepath.Join(b.tmp, "hosts")
	back, err := sorterIn(b.tmp, "hostin", b.o.Memory/4, tripleCodec())
	if err != nil {
		return err
	}
	out, err := createRows(dir, "out")
	if err != nil {
		return err
	}
	sources, last := uint32(0), uint32(0)
	b.done = 0
	err = hosts.each(func(v triple) error {
		if b.done%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		b.tick("host links")
		if out.links == 0 || v.a != last {
			sources, last = sources+1, v.a
		}
		out.link(v.a, v.b)
		return back.add(triple{a: v.b, g: uint64(v.a), b: v.a})
	})
	if err = errors.Join(err, out.close(b.meta.Hosts)); err != nil {
		return err
	}
	b.meta.HostLinks = out.links
	if _, err := b.inlinks(ctx, dir, b.meta.Hosts, back); err != nil {
		return err
	}
	return writeJSON(dir, "meta.json", Meta{
		Version: version, Created: b.meta.Created, Rules: b.meta.Rules, Nodes: b.meta.Hosts, Links: out.links,
		Counted: out.links, Dangling: b.meta.Hosts - sources,
	})
}
