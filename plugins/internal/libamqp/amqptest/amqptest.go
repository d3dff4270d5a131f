// Package amqptest starts a RabbitMQ for tests. It owns its process and files.
package amqptest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Start runs a RabbitMQ of the test's own, from Debian's package
// rabbitmq-server, until the test ends, and returns its address. Where the package is
// not installed the test is skipped.
func Start(t testing.TB) string {
	t.Helper()
	const program = "/usr/lib/rabbitmq/bin/rabbitmq-server"
	if _, err := os.Stat(program); err != nil {
		t.Skip("rabbitmq-server is not installed: this test needs Debian's package of that name")
	}
	dir := t.TempDir()
	ports := freePorts(t, 3)
	conf := filepath.Join(dir, "rabbitmq.conf")
	text := fmt.Sprintf("listeners.tcp.1 = 127.0.0.1:%d\nnum_acceptors.tcp = 2\ndisk_free_limit.absolute = 1MB\n", ports[0])
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	plugins := filepath.Join(dir, "plugins")
	if err := os.WriteFile(plugins, []byte("[]."), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8", "RABBITMQ_CONFIG_FILE=" + conf, "RABBITMQ_ENABLED_PLUGINS_FILE=" + plugins,
		fmt.Sprintf("RABBITMQ_NODENAME=t%d@localhost", ports[0]), fmt.Sprintf("RABBITMQ_DIST_PORT=%d", ports[1]), "RABBITMQ_CONF_ENV_FILE=/dev/null",
		"RABBITMQ_MNESIA_BASE=" + filepath.Join(dir, "data"), "RABBITMQ_LOG_BASE=" + filepath.Join(dir, "log"), "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", fmt.Sprintf("RABBITMQ_NODE_PORT=%d", ports[0]),
	}
	epmd := fmt.Sprintf("ERL_EPMD_PORT=%d", ports[2])
	cmd.Env = append(cmd.Env, epmd)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-done
		_ = out.Close()
		kill := exec.Command("epmd", "-relaxed_command_check", "-kill") // the port mapper that the server started
		kill.Env = []string{"PATH=" + os.Getenv("PATH"), epmd}
		_ = kill.Run()
	})
	uri := fmt.Sprintf("amqp://guest:guest@127.0.0.1:%d/", ports[0])
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		conn, err := amqp.Dial(uri)
		if err == nil {
			_ = conn.Close()
			return uri
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-done:
			b, _ := os.ReadFile(out.Name())
			t.Fatalf("rabbitmq-server ended: %s", b)
		case <-ctx.Done():
			b, _ := os.ReadFile(out.Name())
			t.Fatalf("rabbitmq-server does not answer: %v\n%s", err, b)
		}
	}
}

// freePorts returns ports that nobody listens on now.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // until all are chosen
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}
