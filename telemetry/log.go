package telemetry

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// log writes transitions, as many as the limiter of their kind lets through.
type log struct {
	logger *slog.Logger

	mutex    sync.Mutex // guards limiters; held for no call of the logger
	limiters map[Kind]*limiter
}

// lines are the messages by kind, and how grave they are. What is not here
// happens too often, or is told by a metric better than by a line.
var lines = map[Kind]struct {
	message string
	level   slog.Level
}{
	KindTopology:      {"cosmos.ha topology changed", slog.LevelInfo},
	KindRefresh:       {"cosmos.ha topology refresh failed", slog.LevelWarn},
	KindRanges:        {"cosmos.ha partition key ranges not read", slog.LevelWarn},
	KindBreaker:       {"cosmos.ha circuit breaker", slog.LevelInfo},
	KindOverride:      {"cosmos.ha partition failover", slog.LevelInfo},
	KindHealth:        {"cosmos.ha region health", slog.LevelInfo},
	KindUnknownRegion: {"cosmos.ha unknown region ignored", slog.LevelWarn},
	KindPreferred:     {"cosmos.ha preferred regions of the client are overruled", slog.LevelWarn},
}

func (l *log) write(ctx context.Context, d Decision) {
	line, told := lines[d.Kind]
	if !told || (line.level == slog.LevelWarn && !d.failed()) || !l.logger.Enabled(ctx, line.level) {
		return
	}
	suppressed, ok := l.allow(d.Kind, d.At)
	if !ok {
		return
	}
	attributes := d.logged()
	if suppressed > 0 {
		attributes = append(attributes, slog.Int("suppressed", suppressed))
	}
	l.logger.LogAttrs(ctx, line.level, line.message, attributes...)
}

func (l *log) allow(k Kind, at time.Time) (suppressed int, ok bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.limiters == nil {
		l.limiters = make(map[Kind]*limiter, len(lines))
	}
	if l.limiters[k] == nil {
		l.limiters[k] = &limiter{}
	}
	return l.limiters[k].allow(at)
}

// logged is what the decision says, without what it does not.
func (d Decision) logged() (list []slog.Attr) {
	add := func(name, value string) {
		if value != "" {
			list = append(list, slog.String(name, value))
		}
	}
	add("account", d.Account)
	add("container", d.Container)
	add("partition", d.Partition)
	add("region", d.Region)
	switch d.Kind {
	case KindBreaker, KindHealth:
		list = append(list, slog.Bool("write", d.Write))
	}
	add("from", d.From)
	add("to", d.To)
	add("cause", d.Cause)
	add("change", d.Change)
	add("detail", d.Detail)
	if d.Kind == KindBreaker {
		list = append(list, slog.Int("failures", d.Failures), slog.Duration("open_for", d.OpenFor))
	}
	return list
}
