package main

// This file owns what is not a well-formed command line: inline commands, broken
// requests, and CLIENT REPLY, after which the number of replies is not that of
// the lines. Here all bytes up to the connection's end are compared.

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// rawRequests are byte sequences; after the last byte the client ends its side.
// Not among them is CLIENT REPLY OFF in a transaction: Redis then announces all
// replies of EXEC and sends fewer, which no server should copy. Nor is a protocol
// error after CLIENT REPLY OFF: Redis closes without a word, and a client that
// sent nonsense is better told.
func rawRequests() []string {
	ping := "*1\r\n$4\r\nPING\r\n"
	return []string{
		"PING\r\n", "PING\n", "ping hello\r\n", "\r\n\r\n" + ping, "  PING  \r\n", "\n" + ping, "nosuch\r\n",
		"SET k \"a\\x41\\n\\\"b\"\r\nGET k\r\n", "SET k 'it\\'s'\r\nGET k\r\n", "SET k \"\"\r\nGET k\r\n",
		"SET k \"open\r\n" + ping, "SET k 'open\r\n" + ping, "SET k \"a\"b\r\n" + ping, "PING \x00\r\n", "ECHO \"\\xzz\"\r\n",
		"*0\r\n" + ping, "*-1\r\n" + ping, "*-10\r\n" + ping, "*1\r\n$-1\r\n" + ping, "*1\r\n$-100\r\nPING\r\n",
		"*x\r\n" + ping, "*\r\n" + ping, "*1x\r\n" + ping, "*+1\r\n$4\r\nPING\r\n", "*01\r\n$4\r\nPING\r\n", "* 1\r\n$4\r\nPING\r\n",
		"*1048577\r\n", "*2147483648\r\n", "*9223372036854775807\r\n", "*9223372036854775808\r\n",
		"*1\r\n+4\r\nPING\r\n", "*1\r\nPING\r\n", "*1\r\n:4\r\n", "*1\r\n\r\n", "*2\r\n$4\r\nECHO\r\n*1\r\n",
		"*1\r\n$x\r\n", "*1\r\n$\r\n", "*1\r\n$+4\r\nPING\r\n", "*1\r\n$04\r\nPING\r\n", "*1\r\n$ 4\r\nPING\r\n",
		"*1\r\n$536870913\r\n", "*1\r\n$9223372036854775807\r\n", "*1\r\n$9223372036854775808\r\n", "*1\r\n$99999999999999999999\r\n",
		"*1\r\n$4\r\nPINGxx" + ping, "*1\r\n$0\r\n\r\n" + ping, "*1\r\n$3\r\nPING\r\n" + ping,
		ping + "*2\r\n$4\r\nECHO\r\n$3\r\nab", ping + "*2\r\n$4\r\nECHO", ping + "*2", ping + "PIN",
		ping + ping + "*x\r\n" + ping,
		strings.Repeat("a", 70_000), strings.Repeat("a", 300_000) + "\r\n" + ping, "*" + strings.Repeat("1", 70_000), "*1\r\n$" + strings.Repeat("1", 70_000),
		"ECHO " + strings.Repeat("b", 60_000) + "\r\n" + ping,
		"POST / HTTP/1.1\r\nHost: x\r\n\r\n", "Host: x\r\n" + ping, "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"*2\r\n$4\r\nPOST\r\n$1\r\n/\r\n" + ping,
		"CLIENT REPLY OFF\r\nPING\r\nCLIENT REPLY ON\r\nPING\r\n", "CLIENT REPLY SKIP\r\nPING\r\nPING\r\n",
		"CLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nPING\r\n", "CLIENT REPLY OFF\r\nNOSUCH\r\nCLIENT REPLY SKIP\r\nPING\r\nCLIENT REPLY ON\r\n",
		"CLIENT REPLY MAYBE\r\nPING\r\n", "CLIENT REPLY\r\nPING\r\n",
		"MULTI\r\nCLIENT REPLY SKIP\r\nPING\r\nEXEC\r\nPING\r\n",
		"MULTI\r\n*x\r\n" + ping, "MULTI\r\nSET k v\r\n",
		"QUIT\r\nPING\r\n", "MULTI\r\nQUIT\r\n", "QUIT now\r\nPING\r\n", "HELLO 3\r\nHELLO 2\r\nPING\r\n"[16:],
		"RESET\r\nPING\r\n", "*1\r\n$4\r\nQUIT\r\n" + ping,
	}
}

// compareRaw sends each request whole and byte by byte, and counts the
// differences it prints.
func compareRaw(out io.Writer, ours, peer string) (differing int, err error) {
	requests := rawRequests()
	for _, request := range requests {
		for _, addr := range []string{ours, peer} {
			if err := empty(addr); err != nil {
				return differing, err
			}
		}
		want, err := converse(peer, request, false)
		if err != nil {
			return differing, err
		}
		for _, split := range []bool{false, true} {
			if split && (len(request) > 500 || isForgery(request)) {
				continue
			}
			if err := empty(ours); err != nil {
				return differing, err
			}
			got, err := converse(ours, request, split)
			if err != nil {
				return differing, err
			}
			if got != want {
				differing++
				a, b := around(strconv.Quote(got), strconv.Quote(want))
				fmt.Fprintf(out, "--- bytes %s (byte by byte: %v)\n   ours %s\n   peer %s\n", window(strconv.Quote(request), 0), split, a, b)
			}
		}
	}
	fmt.Fprintf(out, "bytes: %d requests, %d differences\n", len(requests), differing)
	return differing, nil
}

// isForgery says whether the request looks like a browser's. Redis ends such a
// connection at once, with or without the replies that it owes, depending on how
// the bytes arrive.
func isForgery(request string) bool {
	return strings.Contains(request, "POST") || strings.Contains(request, "Host:")
}

// converse sends bytes, ends its side, and returns all that comes back. That the
// server resets the connection, having closed it before all was read, is an end
// like another.
func converse(addr, request string, split bool) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, replyLimit)
	if err != nil {
		return "", fmt.Errorf("connecting to %s: %w", addr, err)
	}
	defer conn.Close() // nothing is left to be sent
	if err := conn.SetDeadline(time.Now().Add(replyLimit)); err != nil {
		return "", fmt.Errorf("setting a deadline: %w", err)
	}
	size := len(request)
	if split {
		size = 1
	}
	for rest := request; rest != ""; rest = rest[min(size, len(rest)):] {
		if _, err := io.WriteString(conn, rest[:min(size, len(rest))]); err != nil {
			break // closed by the server: what it said before is read below
		}
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil && !errors.Is(err, net.ErrClosed) && !isDisconnect(err) {
		return "", fmt.Errorf("ending the request: %w", err)
	}
	reply, err := io.ReadAll(conn)
	if err != nil && !isDisconnect(err) {
		return string(reply) + " (" + err.Error() + ")", nil
	}
	return string(reply), nil
}

// isDisconnect says whether the other side has ended the connection.
func isDisconnect(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ENOTCONN)
}
