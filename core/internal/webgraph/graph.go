package webgraph

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/gonutch/crawler/core/internal/urlkey"
)

// ErrNone says that no graph was built yet.
var ErrNone = errors.New("no link graph was built yet; build it: crawler webgraph")

// Graph reads a built graph, of pages or of hosts. It is safe for concurrent use.
type Graph struct {
	Meta Meta
	dir  string

	keys, off      *os.File
	outOff, outAdj *os.File
	inOff, inAdj   *os.File
	scores         map[string]*os.File
	info           Scores
}

// Scores tells of each kind of score in a graph how it came about, by name.
type Scores map[string]ScoreInfo

// ScoreInfo is how scores were computed.
type ScoreInfo struct {
	Method     string    `json:"method"`
	Iterations int       `json:"iterations"`
	Change     float64   `json:"change"`    // by the last iteration, relative to the sum of scores
	Converged  bool      `json:"converged"` // Change is within the bound
	Error      float64   `json:"error,omitempty"`
	Computed   time.Time `json:"computed"`
}

// HostDir is where the graph in dir has its host graph.
func HostDir(dir string) string { return filepath.Join(dir, "hosts") }

// Open opens the graph in dir. It must be closed.
func Open(dir string) (*Graph, error) {
	g := &Graph{dir: dir, scores: map[string]*os.File{}}
	if err := g.open(); err != nil {
		if errors.Is(err, os.ErrNotExist) && g.keys == nil {
			err = ErrNone
		}
		return nil, errors.Join(fmt.Errorf("open graph in %s: %w", dir, err), g.Close())
	}
	return g, nil
}

func (g *Graph) open() error {
	if err := readJSON(g.dir, "meta.json", &g.Meta); err != nil {
		return err
	}
	if g.Meta.Version != version {
		return fmt.Errorf("it has format %d, this program reads %d; build it anew: crawler webgraph", g.Meta.Version, version)
	}
	for _, x := range []struct {
		to   **os.File
		name string
		size int64 // bytes it must have; -1 is not known
	}{
		{&g.keys, "nodes.keys", -1},
		{&g.off, "nodes.off", 8 * (int64(g.Meta.Nodes) + 1)},
		{&g.outOff, "out.off", 8 * (int64(g.Meta.Nodes) + 1)},
		{&g.outAdj, "out.adj", 4 * int64(g.Meta.Links)}, //nolint:gosec // below 2^63
		{&g.inOff, "in.off", 8 * (int64(g.Meta.Nodes) + 1)},
		{&g.inAdj, "in.adj", 4 * int64(g.Meta.Links)}, //nolint:gosec // below 2^63
	} {
		f, err := openSized(g.dir, x.name, x.size)
		if err != nil {
			return err
		}
		*x.to = f
	}
	if err := readJSON(g.dir, "scores.json", &g.info); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for name := range g.info {
		f, err := openSized(g.dir, "scores."+name, 8*int64(g.Meta.Nodes))
		if err != nil {
			return err
		}
		g.scores[name] = f
	}
	return nil
}

func openSized(dir, name string, size int64) (*os.File, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && size >= 0 && st.Size() != size {
		err = fmt.Errorf("%s has %d bytes, not %d; build the graph anew: crawler webgraph", f.Name(), st.Size(), size)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func readJSON(dir, name string, v any) error {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}

// Close closes the files.
func (g *Graph) Close() error {
	var errs error
	files := []*os.File{g.keys, g.off, g.outOff, g.outAdj, g.inOff, g.inAdj}
	for _, f := range g.scores {
		files = append(files, f)
	}
	for _, f := range files {
		if f != nil {
			errs = errors.Join(errs, f.Close())
		}
	}
	return errs
}

// Scores tells what scores there are.
func (g *Graph) Scores() Scores { return g.info }

// pair reads two numbers that follow each other.
func pair(f *os.File, i uint32) (from, to uint64, err error) {
	var b [16]byte
	if _, err := f.ReadAt(b[:], 8*int64(i)); err != nil {
		return 0, 0, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:]), nil
}

// Key returns the key of a node.
func (g *Graph) Key(node uint32) (string, error) {
	from, to, err := pair(g.off, node)
	if err != nil {
		return "", err
	}
	if to <= from || to-from > 1<<24 {
		return "", fmt.Errorf("%s is damaged; build the graph anew: crawler webgraph", g.off.Name())
	}
	b := make([]byte, to-from)
	if _, err := g.keys.ReadAt(b, int64(from)); err != nil { //nolint:gosec // checked above
		return "", fmt.Errorf("read %s: %w", g.keys.Name(), err)
	}
	return string(bytes.TrimSuffix(b, []byte{0})), nil
}

// Name is the node's URL, or host in a host graph.
func (g *Graph) Name(node uint32) (string, error) {
	k, err := g.Key(node)
	if err != nil {
		return "", err
	}
	return g.name(k)
}

func (g *Graph) name(key string) (string, error) {
	if filepath.Base(g.dir) == "hosts" {
		return HostName(key), nil
	}
	return urlkey.ToURL(urlkey.Key(key))
}

// Find returns the node of a key; false when it has none.
func (g *Graph) Find(key string) (uint32, bool, error) {
	var fail error
	i := sort.Search(int(g.Meta.Nodes), func(i int) bool {
		k, err := g.Key(uint32(i))
		fail = errors.Join(fail, err)
		return k >= key || fail != nil
	})
	if fail != nil || i == int(g.Meta.Nodes) {
		return 0, false, fail
	}
	k, err := g.Key(uint32(i))
	return uint32(i), k == key, err
}

// Degrees returns the number of a node's inlinks and outlinks.
func (g *Graph) Degrees(node uint32) (in, out uint64, err error) {
	a, b, err := pair(g.inOff, node)
	if err != nil {
		return 0, 0, err
	}
	c, d, err := pair(g.outOff, node)
	return b - a, d - c, err
}

// Outlinks returns up to limit of the nodes that node links to, ascending.
func (g *Graph) Outlinks(node uint32, limit int) ([]uint32, error) {
	return row(g.outOff, g.outAdj, node, limit)
}

// Inlinks returns up to limit of the nodes that link to node, those that LinkRank
// counts not told from others.
func (g *Graph) Inlinks(node uint32, limit int) ([]uint32, error) {
	return row(g.inOff, g.inAdj, node, limit)
}

func row(off, adj *os.File, node uint32, limit int) ([]uint32, error) {
	from, to, err := pair(off, node)
	if err != nil {
		return nil, err
	}
	n := min(to-from, uint64(max(limit, 0)))
	b := make([]byte, 4*n)
	if _, err := adj.ReadAt(b, int64(4*from)); err != nil && n > 0 { //nolint:gosec // below 2^63
		return nil, fmt.Errorf("read %s: %w", adj.Name(), err)
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:]) &^ passed
	}
	return out, nil
}

// Score returns a score of a node; the name must be among Scores.
func (g *Graph) Score(name string, node uint32) (float64, error) {
	f := g.scores[name]
	if f == nil {
		return 0, g.noScore(name)
	}
	var b [8]byte
	if _, err := f.ReadAt(b[:], 8*int64(node)); err != nil {
		return 0, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b[:])), nil
}

func (g *Graph) noScore(name string) error {
	return fmt.Errorf("the graph has no %s scores; compute them: crawler linkrank", name)
}

// section is a stream over all of a file of the graph.
func section(f *os.File) *stream {
	s := &stream{f: f}
	s.r = newReader(io.NewSectionReader(f, 0, math.MaxInt64))
	return s
}

// EachScore calls f with every node's key and score, in key order.
func (g *Graph) EachScore(name string, f func(node uint32, key string, score float64) error) error {
	next, err := g.ScoresByKey(name)
	if err != nil {
		return err
	}
	for i := range g.Meta.Nodes {
		k, v, _, err := next()
		if err != nil {
			return err
		}
		if err := f(i, string(k), v); err != nil {
			return err
		}
	}
	return nil
}

// ScoresByKey returns a function that returns keys and scores, in key order; false
// after the last.
func (g *Graph) ScoresByKey(name string) (func() (urlkey.Key, float64, bool, error), error) {
	file := g.scores[name]
	if file == nil {
		return nil, g.noScore(name)
	}
	keys, scores := section(g.keys), section(file)
	i := uint32(0)
	return func() (urlkey.Key, float64, bool, error) {
		if i == g.Meta.Nodes {
			return "", 0, false, nil
		}
		i++
		k, _ := keys.key()
		v := scores.f64()
		return urlkey.Key(k), v, true, errors.Join(keys.err, scores.err)
	}, nil
}

// EachLink calls f with every link, in the order of sources or, with in, of
// targets; node is the one and other the other end.
func (g *Graph) EachLink(in bool, f func(node, other uint32) error) error {
	off, adj := section(g.outOff), section(g.outAdj)
	if in {
		off, adj = section(g.inOff), section(g.inAdj)
	}
	from := off.u64()
	for i := range g.Meta.Nodes {
		to := off.u64()
		for ; from < to; from++ {
			other := adj.u32() &^ passed
			if adj.err != nil {
				return adj.err
			}
			if err := f(i, other); err != nil {
				return err
			}
		}
	}
	return errors.Join(off.err, adj.err)
}
