//go:build unix

package chaos

import (
	"os"
	"os/exec"
	"syscall"
)

func killSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); hang() }

// writeStderr writes past go-plugin, which replaces os.Stderr.
func writeStderr(s string) { _, _ = syscall.Write(2, []byte(s)) }

// stopSelf does not return: the signal may take a moment.
func stopSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP); hang() }

func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
