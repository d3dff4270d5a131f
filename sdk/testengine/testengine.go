// Package testengine starts real servers for tests: OpenSearch, Elasticsearch, Solr
// and Kafka, each in a Java process of its own, from what "make engines" put into
// .bin/engines, and RabbitMQ from Debian's package. It must not know what is
// written into them.
package testengine

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Kind is a server that can be started.
type Kind string

// The kinds of servers.
const (
	OpenSearch    Kind = "opensearch"
	Elasticsearch Kind = "elasticsearch" // without data streams, which no Maven artifact has
	Solr          Kind = "solr"
	SolrCloud     Kind = "solrcloud"
	Kafka         Kind = "kafka"
	RabbitMQ      Kind = "rabbitmq"
)

// Server is a running server. Its methods are for one goroutine.
type Server struct {
	URL  string // without a slash at the end; Solr's ends in /solr; Kafka's is host:port; RabbitMQ's has user and password
	Home string // its data; kept over Stop and Start

	t     testing.TB
	kind  Kind
	port  int
	more  []int // further ports, of RabbitMQ
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
}

// Start starts a server with an empty home; the test is skipped when there is
// none to be had. prepare, which may be nil, fills its home first. The server
// ends with the test.
func Start(t testing.TB, kind Kind, prepare func(home string)) *Server {
	t.Helper()
	if lack := lacks(t, kind); lack != "" {
		t.Skipf("no %s server: %s", kind, lack)
	}
	ports := freePorts(t, 3)
	s := &Server{t: t, kind: kind, Home: t.TempDir(), port: ports[0], more: ports[1:]}
	if prepare != nil {
		prepare(s.Home)
	}
	t.Cleanup(s.Stop)
	s.Start()
	return s
}

// lacks says what there must be to start a server, "" when it is there.
func lacks(t testing.TB, kind Kind) string {
	if kind == RabbitMQ {
		if _, err := os.Stat(rabbitProgram); err != nil {
			return "it is in Debian's package rabbitmq-server"
		}
		return ""
	}
	if _, err := os.Stat(filepath.Join(folder(t, kind), "classes")); err != nil {
		return "\"make engines\" fetches it"
	}
	if _, err := exec.LookPath("java"); err != nil {
		return "there is no java"
	}
	return ""
}

// folder is where "make engines" put kind, below the module's root.
func folder(t testing.TB, kind Kind) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".bin", "engines", strings.TrimSuffix(string(kind), "cloud"))
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// freePorts returns ports that nobody listens on now.
func freePorts(t testing.TB, n int) []int {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // once all are chosen
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// Start starts the server again after Stop, at the same address over the same
// data (but that of SolrCloud, which begins anew), and waits until it answers.
func (s *Server) Start() {
	s.t.Helper()
	if s.kind == RabbitMQ {
		s.startRabbit()
		return
	}
	dir := folder(s.t, s.kind)
	class, args := "OpenSearchServer", []string{s.Home, strconv.Itoa(s.port)}
	switch s.kind {
	case Elasticsearch:
		class = "ElasticsearchServer"
	case Solr, SolrCloud:
		class = "SolrServer"
	case Kafka:
		class = "KafkaServer"
	}
	if s.kind == SolrCloud {
		args = append(args, "cloud")
	}
	args = append([]string{
		"-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.io.tmpdir=" + s.Home,
		"-cp", filepath.Join(dir, "classes") + string(os.PathListSeparator) + filepath.Join(dir, "lib", "*"), class,
	}, args...)
	s.cmd = exec.Command("java", args...) //nolint:noctx // ends with its standard input
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	s.stdin = stdin
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(s.Home, "stderr.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd.Stderr = log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan struct{})
	ready := make(chan string, 1)
	var lines sync.WaitGroup
	lines.Go(func() {
		in := bufio.NewScanner(out)
		for in.Scan() {
			if url, ok := strings.CutPrefix(in.Text(), "ready "); ok {
				ready <- url
			}
		}
		close(ready)
	})
	go func() {
		lines.Wait()
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	url, ok := <-ready
	if !ok {
		text, _ := os.ReadFile(log.Name())
		s.t.Fatalf("%s did not start: %s", s.kind, tail(string(text), 4000))
	}
	s.URL = url
}

// Stop ends the server at once, as a crash does. Safe to call twice.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	if s.kind == RabbitMQ {
		s.stopRabbit()
	} else {
		_ = s.cmd.Process.Kill()
		_ = s.stdin.Close()
		<-s.ended
	}
	s.cmd = nil
}

// Pid is the server's process.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("… %s", s[len(s)-n:])
}
