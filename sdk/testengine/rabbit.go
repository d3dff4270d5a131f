package testengine

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// rabbitProgram is where Debian's package rabbitmq-server has the broker.
const rabbitProgram = "/usr/lib/rabbitmq/bin/rabbitmq-server"

// rabbitPatience is how long a broker may take until it answers, on a machine that has much else to do.
const rabbitPatience = 5 * time.Minute

// startRabbit starts a RabbitMQ that shares nothing with others on the machine: it has its own
// name, ports, files and port mapper.
func (s *Server) startRabbit() {
	s.t.Helper()
	file := func(name, text string) string {
		path := filepath.Join(s.Home, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
		return path
	}
	log, err := os.Create(filepath.Join(s.Home, "stderr.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd = exec.Command(rabbitProgram) //nolint:noctx // Stop ends it
	s.cmd.Dir = s.Home
	s.cmd.Env = append(s.epmd(), "HOME="+s.Home, "LANG=C.UTF-8", "RABBITMQ_CONF_ENV_FILE=/dev/null",
		"RABBITMQ_CONFIG_FILE="+file("rabbitmq.conf", fmt.Sprintf("listeners.tcp.1 = 127.0.0.1:%d\nnum_acceptors.tcp = 2\ndisk_free_limit.absolute = 1MB\n", s.port)),
		"RABBITMQ_ENABLED_PLUGINS_FILE="+file("plugins", "[]."),
		fmt.Sprintf("RABBITMQ_NODENAME=t%d@localhost", s.port), fmt.Sprintf("RABBITMQ_NODE_PORT=%d", s.port), "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1",
		fmt.Sprintf("RABBITMQ_DIST_PORT=%d", s.more[0]), "RABBITMQ_MNESIA_BASE="+filepath.Join(s.Home, "data"), "RABBITMQ_LOG_BASE="+filepath.Join(s.Home, "log"))
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A pipe, so that Wait waits for all that the script started: nothing writes into Home after Stop.
	out := struct{ io.Writer }{log}
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.WaitDelay = out, out, 20*time.Second
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan<- struct{}) {
		_ = cmd.Wait()
		_ = log.Close()
		close(ended)
	}(s.cmd, s.ended)
	s.URL = fmt.Sprintf("amqp://guest:guest@127.0.0.1:%d/", s.port)
	s.awaitRabbit(log.Name())
}

// awaitRabbit waits until the broker takes connections.
func (s *Server) awaitRabbit(log string) {
	s.t.Helper()
	limit := time.NewTimer(rabbitPatience)
	defer limit.Stop()
	for {
		conn, err := amqp.Dial(s.URL)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
			continue
		case <-s.ended:
			err = fmt.Errorf("it ended: %w", err)
		case <-limit.C:
		}
		text, _ := os.ReadFile(log)
		s.t.Fatalf("rabbitmq-server did not start: %v\n%s", err, tail(string(text), 4000))
	}
}

// stopRabbit kills the broker and the port mapper that it started, which refuses to end until it
// has seen that the broker is gone.
func (s *Server) stopRabbit() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	<-s.ended
	mapper := fmt.Sprintf("127.0.0.1:%d", s.more[1])
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", mapper) //nolint:noctx // it is on this machine
		if err != nil {
			return
		}
		_ = conn.Close()
		kill := exec.Command("epmd", "-kill") //nolint:noctx // it answers at once
		kill.Env = s.epmd()
		_ = kill.Run()
	}
}

// epmd is the environment in which Erlang's port mapper is the server's own.
func (s *Server) epmd() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "ERL_EPMD_ADDRESS=127.0.0.1", fmt.Sprintf("ERL_EPMD_PORT=%d", s.more[1])}
}
