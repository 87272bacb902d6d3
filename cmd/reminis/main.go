// Command reminis serves memory over Redis's protocol.
//
//	reminis [redis.conf] [--name value …]   serve
//	reminis backup DIR [--name value …]     copy the data of a running server
//	reminis check DIR                       verify a data directory
//	reminis replay DIR [--until seq]        rebuild an earlier state and print its digest
//	reminis rotate-key DIR --to-file FILE   wrap the keys of owners by another master key
//	reminis ping [--name value …]           ask a server for a sign of life
package main

import (
	"errors"
	"fmt"
	"os"
)

// version is this program's; the build sets it.
var version = "0.1.0"

const usage = `usage:
  reminis [redis.conf] [--name value ...]   serve; directives as in redis.conf
  reminis backup DIR [--name value ...]     write a consistent copy of a running server's data into DIR
  reminis check DIR                         verify a data directory; it must not be in use
  reminis replay DIR [--until seq]          rebuild the state after a batch and print its digest
  reminis rotate-key DIR --to-file FILE [--from-file FILE | --from-env NAME | --from-command COMMAND]
                                            wrap the keys of owners by the master key in FILE, made when it is missing;
                                            the directory must not be in use
  reminis ping [--name value ...]           exit status 0 when the server answers
  reminis --version
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		if !errors.As(err, new(loggedError)) {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return serve(nil)
	}
	switch arguments[0] {
	case "backup":
		return backup(arguments[1:])
	case "check":
		return check(arguments[1:])
	case "replay":
		return replay(arguments[1:])
	case "rotate-key":
		return rotateKeys(arguments[1:])
	case "ping":
		return ping(arguments[1:])
	case "--version", "-v":
		fmt.Printf("reminis %s (redis_version 7.0.15)\n", version)
		return nil
	case "--help", "-h":
		fmt.Print(usage)
		return nil
	}
	return serve(arguments)
}
