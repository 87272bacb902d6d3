package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"reminis/commands/reply"
	"reminis/persistence"
	"reminis/server"
)

// This file owns the subcommands that are not the server: each asks a running
// server, or reads a directory.

// askTimeout is how long a server may take to answer.
const askTimeout = 10 * time.Second

// backup asks the server that the directives name for a copy of its data.
func backup(arguments []string) error {
	if len(arguments) == 0 || strings.HasPrefix(arguments[0], "--") {
		return errors.New("reminis backup needs the directory to write into")
	}
	dir, err := filepath.Abs(arguments[0])
	if err != nil {
		return err
	}
	answer, err := ask(arguments[1:], 0, "BACKUP", dir)
	if err != nil {
		return err
	}
	fmt.Println(answer, dir)
	return nil
}

// ping says whether the server that the directives name answers.
func ping(arguments []string) error {
	answer, err := ask(arguments, askTimeout, "PING")
	if err != nil && strings.HasPrefix(err.Error(), "NOAUTH") {
		answer, err = err.Error(), nil // it lives, and keeps its door shut
	}
	if err != nil {
		return err
	}
	fmt.Println(answer)
	return nil
}

// ask sends one command to the server that the directives (port, bind,
// unixsocket, requirepass) name and gives its simple answer.
func ask(directives []string, timeout time.Duration, words ...string) (string, error) {
	config, err := server.Load(directives, strings.NewReader(""))
	if err != nil {
		return "", err
	}
	settings := config.Settings()
	network, address := "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(settings.Port))
	if settings.Port == 0 && settings.UnixSocket != "" {
		network, address = "unix", settings.UnixSocket
	}
	conn, err := net.DialTimeout(network, address, askTimeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if timeout > 0 {
		if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
			return "", err
		}
	}
	in := bufio.NewReader(conn)
	if settings.RequirePass != "" {
		if _, err := say(conn, in, "AUTH", settings.RequirePass); err != nil {
			return "", err
		}
	}
	return say(conn, in, words...)
}

// say sends a command and reads a status or an error.
func say(conn net.Conn, in *bufio.Reader, words ...string) (string, error) {
	var w reply.Writer
	w.Array(len(words))
	for _, word := range words {
		w.BulkString(word)
	}
	if _, err := conn.Write(w.Bytes()); err != nil {
		return "", err
	}
	line, err := in.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("reading the answer: %w", err)
	}
	line = strings.TrimRight(line, "\r\n")
	if strings.HasPrefix(line, "-") {
		return "", errors.New(line[1:])
	}
	return strings.TrimPrefix(line, "+"), nil
}

// check verifies a data directory and prints what it found.
func check(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("reminis check needs one directory")
	}
	report, err := persistence.Check(persistence.Disk(), arguments[0])
	if err != nil {
		return err
	}
	_, err = fmt.Printf("%+v\n", report)
	return err
}
