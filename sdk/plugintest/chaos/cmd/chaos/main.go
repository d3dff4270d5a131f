// Command chaos is the chaos plugin as a program of its own, for a plugin
// folder. Its one argument says what goes wrong before the handshake:
//
//	exit      it exits with status 7
//	silent    it never says anything
//	garbage   it prints garbage where the handshake belongs
//	version   its handshake is of another protocol version
//	nobody    its handshake names a socket that nobody serves
//	closed    it closes its standard output and goes on
//	slow      the handshake comes two seconds late
//	fork      it leaves children behind and exits
package main

import (
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/gonutch/crawler/sdk"
	"github.com/gonutch/crawler/sdk/plugintest/chaos"
)

func main() {
	if len(os.Args) > 1 {
		before(os.Args[1])
	}
	sdk.Main(chaos.Plugin())
}

func before(what string) {
	switch what {
	case "exit":
		os.Exit(7)
	case "silent":
		forever()
	case "garbage":
		fmt.Println("Welcome to the machine|1|2|\x00\xff")
		forever()
	case "version":
		fmt.Println("1|999|unix|/nowhere|grpc|")
		forever()
	case "nobody":
		fmt.Println("1|1|unix|/nowhere/socket|grpc|")
		forever()
	case "closed":
		_ = os.Stdout.Close()
		forever()
	case "slow":
		time.Sleep(2 * time.Second)
	case "fork":
		if err := exec.Command("sh", "-c", "sleep 600 & sleep 600").Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(7)
	}
}

func forever() {
	for {
		time.Sleep(time.Hour)
	}
}
