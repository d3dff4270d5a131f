//go:build unix

package sdk

import (
	"os"
	"syscall"
)

func closeOnExec(fd int) { syscall.CloseOnExec(fd) }

// killGroup ends this process and, when it leads a process group, all of it.
func killGroup() {
	if pid := os.Getpid(); syscall.Getpgrp() == pid {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
	os.Exit(1)
}
