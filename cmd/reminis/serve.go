package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"reminis/commands"
	"reminis/engine"
	"reminis/engine/memory"
	"reminis/persistence"
	"reminis/server"
)

// This file owns the order in which a server starts and stops.

// process is a running server.
type process struct {
	config *server.Config
	log    *server.Log
	store  *persistence.Store // nil for a pure cache
	keys   *persistence.Keyring
	engine *engine.Engine
	core   *commands.Core
	server *server.Server
	// auditFile is nil without one.
	auditFile *server.AuditFile
	embedding *embedding // nil without an embedder
	// from is where the data is, loading how it is being read.
	from    source
	loading loading
	stop    chan struct{} // closed or sent to when the process shall end
	signals chan os.Signal
}

// errNowhere ends a server that nobody could reach.
var errNowhere = errors.New("configured to not listen anywhere, exiting")

// serve runs a server until it is told to stop.
func serve(arguments []string) error {
	config, err := server.Load(arguments, os.Stdin)
	if err != nil {
		return err
	}
	if exit, err := server.Daemonize(config); exit || err != nil {
		return err
	}
	log, err := server.OpenLog(config)
	if err != nil {
		return err
	}
	p := &process{config: config, log: log, stop: make(chan struct{}, 1)}
	err = p.run()
	if err != nil {
		log.Error(err.Error())
		err = loggedError{err}
	}
	return errors.Join(err, log.Close())
}

// loggedError is an error that the log has; it ends the process without being
// printed again.
type loggedError struct{ error }

func (e loggedError) Unwrap() error { return e.error }

func (p *process) run() error {
	settings := p.config.Settings()
	p.log.Warn("Reminis is starting", "version", version, "redis_version", "7.0.15", "pid", os.Getpid())
	for _, note := range p.config.Notes {
		p.log.Warn(note)
	}
	stopReports, err := server.ReportCrashes(p.config, p.log)
	if err != nil {
		return err
	}
	defer stopReports()
	server.AdjustOOMScore(p.config, p.log.Logger)
	if err := p.findLimits(); err != nil {
		return err
	}
	defer func() {
		if p.auditFile != nil {
			p.auditFile.Close()
		}
	}()
	if err := p.open(); err != nil {
		return err
	}
	defer func() {
		if err := p.closeStore(); err != nil {
			p.log.Error("closing the store", "error", err)
		}
	}()
	pidFile, err := server.WritePidFile(settings)
	if err != nil {
		p.log.Warn(err.Error())
	}
	defer func() { _ = pidFile.Remove() }()
	defer p.followHangup()()
	embedder, embedderName, err := openEmbedder(settings)
	if err != nil {
		return err
	}
	if embedder != nil {
		p.embedding = newEmbedding(p.engine, embedder, embedderName)
	}
	p.signals = make(chan os.Signal, 2)
	signal.Notify(p.signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(p.signals)
	if err := p.listen(); err != nil {
		return err
	}
	if len(p.server.Addresses()) == 0 {
		return errors.Join(errNowhere, p.end())
	}
	switch stopped, err := p.load(); {
	case err != nil:
		return errors.Join(err, p.halt())
	case stopped:
		return p.end()
	}
	return p.work()
}

// work answers until the process is told to end.
func (p *process) work() error {
	if p.embedding != nil {
		p.embedding.run()
		defer p.embedding.stop()
	}
	p.engine.RunExpiry()
	defer p.engine.StopExpiry()
	p.engine.RunIndexer()
	defer p.engine.StopIndexer()
	p.engine.RunReadAudit()
	defer p.engine.StopReadAudit()
	defer p.runTrimmer()()
	p.core.EndLoading()
	p.tellReady()
	p.wait()
	return p.end()
}

// tellReady says that commands are answered.
func (p *process) tellReady() {
	var addresses []string
	for _, a := range p.server.Addresses() {
		addresses = append(addresses, a.String())
	}
	p.log.Info("Ready to accept connections", "addr", strings.Join(addresses, " "))
	if err := server.NotifySupervisor(p.config.Settings(), "READY=1"); err != nil {
		p.log.Warn("telling the supervisor", "error", err)
	}
}

// findLimits raises what can be raised and says what was found.
func (p *process) findLimits() error {
	limits, err := server.FindLimits(p.config)
	if err != nil {
		return err
	}
	settings := p.config.Settings()
	p.log.Info("limits", "open_files", limits.Descriptors, "maxclients", limits.MaxClients,
		"container_memory", limits.MemoryBytes, "source", limits.MemorySource, "maxmemory", settings.MaxMemoryBytes)
	if limits.MaxClients < limits.WantedClients {
		p.log.Warn("maxclients was lowered to what open files allow", "wanted", limits.WantedClients, "now", limits.MaxClients)
	}
	if m := limits.MemoryBytes; m > 0 && (settings.MaxMemoryBytes == 0 || settings.MaxMemoryBytes > m) {
		p.log.Warn("maxmemory does not keep the data below the container's memory limit: the system may kill the process", "limit", m)
	}
	return nil
}

// open opens the store, and makes what its data is read into.
func (p *process) open() error {
	settings := p.config.Settings()
	if settings.Durability != server.DurabilityNone {
		if err := os.MkdirAll(settings.Dir, 0o755); err != nil {
			return fmt.Errorf("making the data directory: %w", err)
		}
	}
	from, err := findSource(settings)
	p.from = from
	if err == nil && from.importing {
		err = persistence.BeginImport(persistence.Disk(), settings.Dir)
	}
	if err != nil {
		return err
	}
	store, err := openStore(settings, from.importing, p.log.Logger)
	if err != nil {
		return err
	}
	p.store = store
	options := engine.Options{
		Databases: settings.Databases,
		Memory: engine.MemoryOptions{
			Layout:              memory.Layout{OwnerSegments: settings.MemOwnerSegments, OwnerTag: settings.MemOwnerTag},
			IdempotencyWindowMs: settings.MemIdempotencyMs,
			IdempotencyMax:      int(settings.MemIdempotencyMax),
		},
	}
	if store != nil {
		if p.keys, err = openKeys(store, settings, p.log.Logger); err != nil {
			return errors.Join(err, store.Close())
		}
		options.Journal, options.Archive, options.Eraser, options.Memory.Keys = journal{store, p.keys}, store, store, p.keys
	}
	p.engine = engine.Open(options)
	if err := p.openCore(); err != nil {
		return errors.Join(err, p.closeStore())
	}
	p.openAuditFile() // which an erasure that a recovery finishes is taken out of, too
	p.followDurability()
	if from.snapshot != "" {
		if err := p.loading.measure(from.snapshot); err != nil {
			return errors.Join(err, p.closeStore())
		}
	}
	return nil
}

// openCore makes the command processor, with what it needs to load data.
func (p *process) openCore() error {
	table := commands.DefaultTable()
	if err := p.config.RenameCommands(table); err != nil {
		return err
	}
	p.core = commands.NewCore(p.engine, table)
	p.core.Snapshots = snapshotFile{p.config.Settings}
	if store := p.store; store != nil {
		p.core.Store = storeHost{store, p.engine, func() string { return p.config.Settings().Durability.String() }}
		p.core.Checkpoint = store.Checkpoint
		p.core.Export = func(into commands.RowTarget) (int, error) {
			done, err := store.Export(into)
			return done.Records, err
		}
		p.core.WhenDurable = func(wake func()) { store.Notify(store.Durable()+1, wake) }
	}
	p.core.Records = p.recordHost
	p.core.WriteTimeout = func() time.Duration {
		return time.Duration(p.config.Settings().WriteTimeoutMs) * time.Millisecond
	}
	server.Limit(p.config, p.core)
	return nil
}

// recover hands the engine what the store holds.
func (p *process) recover() error {
	if err := p.store.Recover(persistence.Watched(p.engine, p.loading.next)); err != nil {
		return err
	}
	if err := p.keys.Start(); err != nil {
		return err
	}
	p.store.OnCheckpoint(p.engine.Checkpointed)
	p.engine.OnPending(p.store.CheckpointSoon)
	p.engine.Checkpointed(p.store.CheckpointSeq())
	if n := p.engine.Stats().Destroyed.Load(); n > 0 {
		p.log.Warn("records were left out: the keys of their owners are destroyed", "records", n)
	}
	owners, err := p.engine.FinishErasures()
	if owners > 0 {
		p.log.Info("erasures that were not at their end were finished", "owners", owners)
	}
	return err
}

// followDurability keeps what replies wait for as the directives say.
func (p *process) followDurability() {
	apply := func(next *server.Settings) error {
		limits := &p.engine.Limits
		limits.GateAll.Store(next.Durability == server.DurabilityAlways)
		limits.GateRecords.Store(next.MemDurability == server.DurabilityAlways)
		if p.store != nil && next.Durability != server.DurabilityNone {
			p.store.SetDurability(durabilityOf(next.Durability))
		}
		return nil
	}
	_ = apply(p.config.Settings())
	p.config.OnChange(apply, "appendfsync", "mem-appendfsync")
	if p.store != nil {
		p.config.OnChange(func(next *server.Settings) error {
			p.store.SetCompressed(next.Compressed)
			return nil
		}, "rdbcompression")
	}
}

// listen opens the door, behind which nobody is answered until the data is there.
func (p *process) listen() error {
	options := server.Options{Handler: server.Commands(p.core), Settings: p.config.Settings, Log: p.log.Logger}
	if p.store != nil {
		options.Gate = p.store
	}
	s, err := server.New(options)
	if err != nil {
		return err
	}
	p.server = s
	holders := []engine.Holder{s}
	if p.store != nil {
		holders = append(holders, p.store)
	}
	p.engine.CountHeld(holders...)
	server.Host(s, p.config, p.core, p.shutdown)
	if err := server.OpenUsers(p.config, p.core); err != nil {
		return errors.Join(err, s.Stop(context.Background()))
	}
	p.core.BeginLoading(p.progress)
	if err := s.Listen(); err != nil {
		return errors.Join(err, s.Stop(context.Background()))
	}
	settings := p.config.Settings()
	// The words of Redis's lines are what scripts wait for.
	p.log.Warn(fmt.Sprintf("Running in standalone mode, Port: %d, PID: %d", max(settings.Port, settings.TLSPort), os.Getpid()))
	p.log.Warn("Server initialized")
	return nil
}

// shutdown makes wait return.
func (p *process) shutdown() {
	select {
	case p.stop <- struct{}{}:
	default:
	}
}

func (p *process) wait() {
	select {
	case s := <-p.signals:
		p.log.Warn("Received a signal, shutting down...", "signal", s.String())
	case <-p.stop:
		p.log.Warn("User requested shutdown...")
	}
}

// end lets sessions finish and flushes everything.
func (p *process) end() error {
	p.core.EndSave()
	defer p.core.EndSave() // one may have begun since
	if err := server.NotifySupervisor(p.config.Settings(), "STOPPING=1"); err != nil {
		p.log.Log(context.Background(), slog.LevelWarn, "telling the supervisor", "error", err)
	}
	timeout := time.Duration(max(p.config.Settings().ShutdownTimeoutSeconds, 1)) * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := p.server.Stop(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	p.log.Warn("Reminis is now ready to exit, bye bye...")
	return nil
}
