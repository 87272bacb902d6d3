package commands

import (
	"strconv"

	"reminis/engine"
)

// This file owns what subscribers hear of keyspace events: the channels of a key
// and of an event. It must not know which command causes which event.

// tellEvent publishes an event of the engine, which calls it one event at a time.
// It leaves when the change that it tells of is durable, as replies do that show
// the change.
func (k *Core) tellEvent(x *engine.Event) {
	classes := engine.EventClass(k.Engine.Limits.Events.Load())
	if classes&engine.EventKeyspace != 0 {
		k.eventChannel("__keyspace@", x.DB, x.Key)
		k.events.payload = append(k.events.payload[:0], x.Name...)
		k.registry.publish(toChannel, k.events.channel, k.events.payload, x.Seq)
	}
	if classes&engine.EventKeyevent != 0 {
		k.eventChannel("__keyevent@", x.DB, x.Name)
		k.events.payload = append(k.events.payload[:0], x.Key...)
		k.registry.publish(toChannel, k.events.channel, k.events.payload, x.Seq)
	}
}

// eventBuffers are used again from event to event.
type eventBuffers struct{ channel, payload []byte }

func (k *Core) eventChannel(prefix string, db int, of string) {
	channel := append(k.events.channel[:0], prefix...)
	channel = strconv.AppendInt(channel, int64(db), 10)
	channel = append(channel, "__:"...)
	k.events.channel = append(channel, of...)
}
