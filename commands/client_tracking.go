package commands

import (
	"strings"

	"reminis/commands/grammar"
	"reminis/commands/reply"
)

// This file owns CLIENT TRACKING, CACHING, TRACKINGINFO and GETREDIR.

type trackingParams struct {
	status                          uint8 // trackingOn, trackingOff
	redirects, prefixes             [][]byte
	broadcast, optIn, optOut, quiet bool
}

const (
	trackingOn = iota + 1
	trackingOff
)

func clientTrackingCommand() *Command {
	type params = trackingParams
	return onSession(Declaration{
		Name: "tracking", Since: "6.0.0", Complexity: "O(1). Some options may introduce additional complexity.",
		Summary: "Enable or disable server assisted client side caching support",
		Flags:   clientFlags, Reply: reply.OK(),
	}, grammar.Compile[params](
		grammar.Enum("status", func(p *params) *uint8 { return &p.status }, "ON", "OFF"),
		grammar.Options(
			grammar.List("client-id", func(p *params) *[][]byte { return &p.redirects }).After("REDIRECT").DocumentedAs(
				grammar.Opt(grammar.Int[*params]("client-id", nil).After("REDIRECT"))),
			grammar.List("prefix", func(p *params) *[][]byte { return &p.prefixes }).After("PREFIX"),
			grammar.Token("BCAST", func(p *params) *bool { return &p.broadcast }),
			grammar.Token("OPTIN", func(p *params) *bool { return &p.optIn }),
			grammar.Token("OPTOUT", func(p *params) *bool { return &p.optOut }),
			grammar.Token("NOLOOP", func(p *params) *bool { return &p.quiet }),
		),
	), runClientTracking)
}

func runClientTracking(s *Session, p *trackingParams, w *reply.Writer) error {
	mode := trackingMode{broadcast: p.broadcast, optIn: p.optIn, optOut: p.optOut, quiet: p.quiet}
	for i, text := range p.redirects {
		if i > 0 {
			return errRedirectTwice
		}
		id, ok := grammar.ParseInt(text)
		if !ok {
			return ErrNotInteger
		}
		if s.Core.tracker.endpoints.find(id) == nil {
			return errRedirectGone
		}
		mode.redirect = id
	}
	if p.status == trackingOff {
		s.endTracking()
		w.OK()
		return nil
	}
	if err := s.checkTracking(&mode, p.prefixes); err != nil {
		return err
	}
	s.endTracking()
	t := &tracked{trackingMode: mode, id: s.Peer.ID(), end: &s.end}
	for _, prefix := range mode.prefixes {
		t.bytes += prefixBytes + len(prefix)
	}
	s.tracking = t
	s.Core.tracker.add(t)
	s.Core.watchChanges()
	w.OK()
	return nil
}

// checkTracking finds what stands against a mode, in the order of Redis's
// clientCommand, and gives it its prefixes.
func (s *Session) checkTracking(mode *trackingMode, prefixes [][]byte) error {
	old := s.tracking
	switch {
	case !mode.broadcast && len(prefixes) > 0:
		return errPrefixNoBroadcast
	case old != nil && old.broadcast != mode.broadcast:
		return errBroadcastSwitch
	case mode.broadcast && (mode.optIn || mode.optOut):
		return errOptBroadcast
	case mode.optIn && mode.optOut:
		return errOptBoth
	case mode.optIn && old != nil && old.optOut, mode.optOut && old != nil && old.optIn:
		return errOptSwitch
	}
	if !mode.broadcast {
		return nil
	}
	if err := addPrefixes(mode, old, prefixes); err != nil {
		return err
	}
	if len(mode.prefixes) == 0 {
		mode.prefixes = []string{""}
	}
	return nil
}

// addPrefixes adds prefixes to those of the mode that was on. No two may have a key
// in common, or it would be told twice.
func addPrefixes(mode *trackingMode, old *tracked, prefixes [][]byte) error {
	overlap := func(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
	if old != nil {
		mode.prefixes = append(mode.prefixes, old.prefixes...)
	}
	known := len(mode.prefixes)
	for i, added := range prefixes {
		for _, other := range mode.prefixes[:known] {
			if overlap(string(added), other) {
				return errPrefixKnown(string(added), other)
			}
		}
		for _, other := range prefixes[i+1:] {
			if overlap(string(added), string(other)) {
				return errPrefixTwice(string(added), string(other))
			}
		}
	}
	for _, added := range prefixes {
		mode.prefixes = append(mode.prefixes, string(added))
	}
	return nil
}

type cachingParams struct{ mode []byte }

func clientCachingCommand() *Command {
	return onSession(Declaration{
		Name: "caching", Since: "6.0.0", Complexity: "O(1)",
		Summary: "Instruct the server about tracking or not keys in the next request",
		Flags:   clientFlags, Reply: reply.OK(),
	}, grammar.Compile[cachingParams](
		grammar.Bytes("mode", func(p *cachingParams) *[]byte { return &p.mode }).DocumentedAs(
			grammar.OneOf("mode", grammar.Token("YES", func(*cachingParams) *bool { return new(bool) }),
				grammar.Token("NO", func(*cachingParams) *bool { return new(bool) })),
		),
	), runClientCaching)
}

func runClientCaching(s *Session, p *cachingParams, w *reply.Writer) error {
	t := s.tracking
	switch {
	case t == nil || !t.optIn && !t.optOut:
		return errCachingMode
	case equalFold(p.mode, "yes"):
		if !t.optIn {
			return errCachingYes
		}
	case equalFold(p.mode, "no"):
		if !t.optOut {
			return errCachingNo
		}
	default:
		return ErrSyntax
	}
	s.caching, s.cachingOf = true, s.LastCommand.Parent
	w.OK()
	return nil
}

func clientTrackingInfoCommand() *Command {
	return onSession(Declaration{
		Name: "trackinginfo", Since: "6.2.0", Complexity: "O(1)",
		Summary: "Return information about server assisted client side caching for the current connection",
		Flags:   clientFlags,
		Reply:   reply.MapOf(reply.Bulk(), reply.Any()),
	}, grammar.Compile[noParams](), runClientTrackingInfo)
}

func runClientTrackingInfo(s *Session, _ *noParams, w *reply.Writer) error {
	on, broadcast, broken, redirect := s.Tracking()
	flags, prefixes := []string{"off"}, []string(nil)
	if on {
		t := s.tracking
		flags, prefixes = []string{"on"}, t.prefixes
		for _, flag := range []struct {
			set  bool
			name string
		}{
			{broadcast, "bcast"}, {t.optIn, "optin"}, {t.optIn && s.caching, "caching-yes"}, {t.optOut, "optout"},
			{t.optOut && s.caching, "caching-no"}, {t.quiet, "noloop"}, {broken, "broken_redirect"},
		} {
			if flag.set {
				flags = append(flags, flag.name)
			}
		}
	}
	w.Map(3)
	w.BulkString("flags")
	w.Set(len(flags))
	for _, flag := range flags {
		w.BulkString(flag)
	}
	w.BulkString("redirect")
	w.Int(redirect)
	w.BulkString("prefixes")
	w.Array(len(prefixes))
	for _, prefix := range prefixes {
		w.BulkString(prefix)
	}
	return nil
}

func clientRedirectionCommand() *Command {
	return onSession(Declaration{
		Name: "getredir", Since: "6.0.0", Complexity: "O(1)",
		Summary: "Get tracking notifications redirection client ID if any",
		Flags:   clientFlags, Reply: reply.Int(),
	}, grammar.Compile[noParams](), func(s *Session, _ *noParams, w *reply.Writer) error {
		_, _, _, redirect := s.Tracking()
		w.Int(redirect)
		return nil
	})
}
