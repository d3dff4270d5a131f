package indexarbitrary

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/gonutch/crawler/sdk/fault"
)

// errTooLong says that an answer is longer than allowed.
var errTooLong = errors.New("the answer is longer than max_answer")

// closeGrace is how long a program may take to end after its input did.
const closeGrace = 2 * time.Second

// worker is one process of the program, started when it is first asked. One
// caller at a time uses it. The process stays in the plugin's process group, so
// that it ends with it, however that ends.
type worker struct {
	command   []string
	maxAnswer int
	log       hclog.Logger

	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.ReadCloser
	read *bufio.Reader
	done chan struct{} // closed when its stderr has been read to the end
}

func (w *worker) start() error {
	cmd := exec.Command(w.command[0], w.command[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.cmd, w.in, w.out, w.read, w.done = cmd, in, out, bufio.NewReaderSize(out, 64<<10), make(chan struct{})
	go w.logStderr(stderr, w.done)
	return nil
}

func (w *worker) logStderr(r io.Reader, done chan<- struct{}) {
	defer close(done)
	b := bufio.NewReaderSize(r, 4096)
	for {
		line, _, err := b.ReadLine() // what is longer comes in pieces
		if err != nil {
			return
		}
		w.log.Warn("program says", "text", string(line))
	}
}

// ask sends one line and returns the line that answers it. After an error the
// process is gone, and the next call starts another.
func (w *worker) ask(ctx context.Context, line []byte) ([]byte, error) {
	if w.cmd == nil {
		if err := w.start(); err != nil {
			w.cmd = nil
			return nil, fault.Errorf(fault.Transient, "start %s: %w", w.command[0], err)
		}
	}
	type result struct {
		line []byte
		err  error
	}
	got := make(chan result, 1)
	go func() {
		// A program that answers before it has read everything must not block.
		written := make(chan error, 1)
		go func() {
			_, err := w.in.Write(line)
			written <- err
		}()
		answer, err := w.readLine()
		if err != nil {
			_ = w.in.Close()
		}
		if werr := <-written; err == nil {
			err = werr
		}
		got <- result{answer, err}
	}()
	select {
	case r := <-got:
		switch {
		case r.err == nil:
			return r.line, nil
		case errors.Is(r.err, errTooLong):
			_ = w.end(0)
			return nil, fault.New(fault.Permanent, r.err)
		}
		end := w.end(0)
		return nil, fault.Errorf(fault.Transient, "%s ended without an answer: %w", w.command[0], errors.Join(r.err, end))
	case <-ctx.Done():
		// Closing the pipes ends both goroutines, also when a process below the
		// program still holds them.
		err := w.end(0)
		<-got
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, fault.Errorf(fault.Permanent, "%s did not answer within time_limit", w.command[0])
		}
		return nil, errors.Join(ctx.Err(), ignoreKilled(err))
	}
}

func (w *worker) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := w.read.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > w.maxAnswer+1:
			return nil, errTooLong
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// end ends the process: by the end of its input, or after grace by force. The
// error says how it ended, when not well.
func (w *worker) end(grace time.Duration) error {
	if w.cmd == nil {
		return nil
	}
	_ = w.in.Close()
	cmd, out := w.cmd, w.out
	kill := func() {
		_ = cmd.Process.Kill()
		_ = out.Close()
	}
	if grace > 0 {
		late := time.AfterFunc(grace, kill)
		_, _ = io.Copy(io.Discard, w.read) // until it ends, or is ended
		late.Stop()
	} else {
		kill()
	}
	err := cmd.Wait() // closes the pipes
	<-w.done
	w.cmd = nil
	return err
}

func ignoreKilled(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}

// stop ends the process when the plugin ends.
func (w *worker) stop() error {
	if err := w.end(closeGrace); err != nil {
		return fmt.Errorf("%s: %w", w.command[0], err)
	}
	return nil
}
