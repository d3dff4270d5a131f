package pluginhost

import (
	"os/exec"
	"runtime"
	"sync"
)

// spawner starts processes from one thread that lives as long as the spawner.
// The kernel's parent-death signal is bound to the thread that forked, not to
// the process: started from any goroutine, healthy plugins would be killed when
// Go ends one of its threads.
type spawner struct {
	work chan spawnJob
	once sync.Once
	done chan struct{}
}

type spawnJob struct {
	cmd *exec.Cmd
	err chan<- error
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan spawnJob), done: make(chan struct{})}
	go s.run()
	return s
}

func (s *spawner) run() {
	defer close(s.done)
	runtime.LockOSThread()
	// Unlocked, the thread goes back to Go's pool instead of ending, so that not
	// even a straggler is killed by its end.
	defer runtime.UnlockOSThread()
	for j := range s.work {
		j.err <- j.cmd.Start()
	}
}

// start is cmd.Start on the spawner's thread. It must not be called after close.
func (s *spawner) start(cmd *exec.Cmd) error {
	err := make(chan error, 1)
	s.work <- spawnJob{cmd, err}
	return <-err
}

func (s *spawner) close() {
	s.once.Do(func() { close(s.work) })
	<-s.done
}
