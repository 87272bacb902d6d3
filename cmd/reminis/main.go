// Command reminis serves memory over Redis's protocol.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"reminis/commands"
	"reminis/engine"
	"reminis/server"
)

type noConfig struct{ *server.Config }

func (c noConfig) Get(n string) string              { s, _ := c.Text(n); return s }
func (noConfig) Match(string, func(string, string)) {}
func (noConfig) Set([][]byte) error                 { return nil }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if f := os.Getenv("CPUPROF"); f != "" {
		w, _ := os.Create(f)
		pprof.StartCPUProfile(w)
		defer pprof.StopCPUProfile()
	}
	config, err := server.Load(os.Args[1:], os.Stdin)
	if err != nil {
		return err
	}
	e := engine.Open(engine.Options{})
	e.RunExpiry()
	core := commands.NewCore(e, commands.DefaultTable())
	core.Config = noConfig{config}
	s, err := server.New(server.Options{Handler: server.Commands(core), Settings: config.Settings})
	if err != nil {
		return err
	}
	if err := s.Listen(); err != nil {
		return err
	}
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	<-ch
	return s.Stop(context.Background())
}
