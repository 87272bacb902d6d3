package main

// This file owns what is measured of channels: one publisher whose messages go to
// many subscribers. It must not know how results are shown.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"reminis/bench/resp"
)

// fanChannel is what everybody listens to.
const fanChannel = "channel"

func fanScenarios(cache []string) []scenario {
	return []scenario{
		{"pubsub", "one publisher, a message of 32 bytes to 1,000 subscribers: messages delivered", cache, []int{1, 16}, "", false, runFanOut(1000)},
	}
}

// runFanOut measures deliveries to so many subscribers; fewer, if the key space is
// smaller than that.
func runFanOut(subscribers int) func(b *bench, s scenario, root string) error {
	return func(b *bench, s scenario, root string) (err error) {
		sides, err := b.startBoth(root, s.flags)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stopAll(sides)) }()
		var fans [2]*fan
		for i, side := range sides {
			if fans[i], err = newFan(side.addr, min(subscribers, b.keys)); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, fans[i].close()) }()
		}
		for _, depth := range s.depths {
			if err := b.fanOutAt(s, sides, fans, depth); err != nil {
				return fmt.Errorf("%s at %s: %w", s.name, pipelineLabel(depth), err)
			}
		}
		return nil
	}
}

func (b *bench) fanOutAt(s scenario, sides [2]*side, fans [2]*fan, depth int) error {
	rate := b.report.figure(s.name, depth, "delivered_per_second")
	cpu := b.report.figure(s.name, depth, "cpu_us_per_delivery")
	driver := b.report.figure(s.name, depth, "driver_cpu_us_per_delivery")
	gc := b.report.figure(s.name, depth, "gc_percent_of_core")
	for round := range b.rounds {
		for _, i := range order(round) {
			r, err := sides[i].measureOf(func(limit time.Duration) (amount, error) { return fans[i].run(depth, limit) }, b.limit)
			if err != nil {
				return err
			}
			rate.add(i, r.perSecond())
			cpu.add(i, r.cpu.Seconds()*1e6/float64(r.commands))
			driver.add(i, r.driver.Seconds()*1e6/float64(r.commands))
			gc.add(i, 100*r.gc/r.elapsed.Seconds())
		}
	}
	return b.report.show(s, depth, rate, cpu, driver, gc)
}

// fan is a publisher and its subscribers. A pipeline of messages is sent when all
// have read the one before, so that nothing but the server decides how fast they
// come. Reading them in turn costs one system call each, which no other way
// undercuts; the server does not wait for it.
type fan struct {
	publisher   net.Conn
	subscribers []net.Conn
	in          []byte
}

func newFan(addr string, subscribers int) (*fan, error) {
	f := &fan{}
	var err error
	if f.publisher, err = net.Dial("tcp", addr); err != nil {
		return nil, err
	}
	confirmed := "*3\r\n$9\r\nsubscribe\r\n$" + strconv.Itoa(len(fanChannel)) + "\r\n" + fanChannel + "\r\n:1\r\n"
	for range subscribers {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		f.subscribers = append(f.subscribers, conn)
		if _, err = conn.Write(resp.AppendCommand(nil, []byte("SUBSCRIBE"), []byte(fanChannel))); err == nil {
			err = f.expect(conn, []byte(confirmed))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("subscribing: %w", err), f.close())
		}
	}
	return f, nil
}

func (f *fan) close() error {
	err := f.publisher.Close()
	for _, conn := range f.subscribers {
		err = errors.Join(err, conn.Close())
	}
	return err
}

// run publishes in pipelines until the limit is over, and counts deliveries.
func (f *fan) run(depth int, limit time.Duration) (amount, error) {
	value := appendValue(nil, 7)
	lines := bytes.Repeat(resp.AppendCommand(nil, []byte("PUBLISH"), []byte(fanChannel), value), depth)
	answers := bytes.Repeat([]byte(":"+strconv.Itoa(len(f.subscribers))+"\r\n"), depth)
	messages := bytes.Repeat(resp.AppendCommand(nil, []byte("message"), []byte(fanChannel), value), depth)
	started := time.Now()
	var done amount
	for done.commands == 0 || time.Since(started) < limit {
		if _, err := f.publisher.Write(lines); err != nil {
			return done, fmt.Errorf("publishing: %w", err)
		}
		if err := f.expect(f.publisher, answers); err != nil {
			return done, fmt.Errorf("publishing: %w", err)
		}
		for _, conn := range f.subscribers {
			if err := f.expect(conn, messages); err != nil {
				return done, fmt.Errorf("a subscriber: %w", err)
			}
		}
		done.commands += depth * len(f.subscribers)
	}
	done.elapsed = time.Since(started)
	return done, nil
}

// expect reads what must come.
func (f *fan) expect(conn net.Conn, want []byte) error {
	if cap(f.in) < len(want) {
		f.in = make([]byte, len(want))
	}
	if err := conn.SetReadDeadline(time.Now().Add(replyLimit)); err != nil {
		return err
	}
	have := f.in[:len(want)]
	if n, err := io.ReadFull(conn, have); err != nil {
		return fmt.Errorf("after %q: %w", have[:n], err)
	}
	if !bytes.Equal(have, want) {
		return fmt.Errorf("it read %.80q, not %.80q", have, want)
	}
	return nil
}
