package control

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// checkPeer refuses connections of other users. The socket's mode does so too;
// this holds even where modes mean nothing.
func checkPeer(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) //nolint:gosec // a file descriptor
	}); err != nil {
		return err
	}
	if credErr != nil {
		return fmt.Errorf("ask for the peer's user: %w", credErr)
	}
	return allowed(int(cred.Uid), os.Geteuid())
}
