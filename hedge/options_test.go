package hedge

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestValidate(t *testing.T) {
	tests := []struct {
		name    string
		options Options
		want    string
	}{
		{"zero value", Options{}, ""},
		{"everything set", Options{true, time.Nanosecond, time.Hour, 99, true, 1}, ""},
		{"threshold", Options{Threshold: -1, Step: -1}, "hedge: Threshold must not be negative, got -1ns"},
		{"step", Options{Step: -time.Second, MaxHedges: -1}, "hedge: Step must not be negative, got -1s"},
		{"hedges", Options{MaxHedges: -2, MaxInFlight: -1}, "hedge: MaxHedges must not be negative, got -2"},
		{"in flight", Options{MaxInFlight: -3}, "hedge: MaxInFlight must not be negative, got -3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.options.Validate()
			if tt.want == "" {
				assert.NoError(t, err)
				return
			}
			var typed *OptionError
			require.ErrorAs(t, err, &typed)
			assert.Equal(t, tt.want, err.Error())
		})
	}
}

func TestMerge(t *testing.T) {
	client := Options{Threshold: time.Second, Step: time.Minute, MaxHedges: 2, MaxInFlight: 7}
	off := client
	off.Disabled = true
	writes := client
	writes.Writes = true
	with := func(change func(*Options)) Options {
		o := client
		change(&o)
		return o
	}
	tests := []struct {
		name            string
		client, request Options
		given           bool
		want            Options
	}{
		{"none: the client's", client, Options{}, false, client},
		{"none: the client's, off", off, Options{}, false, off},
		{"none: what stands beside it does not count", client, Options{Disabled: true, Step: 1}, false, client},
		{"zero value: on, the client's fields", client, Options{}, true, client},
		{"zero value switches on", off, Options{}, true, client},
		{"disabled switches off", client, Options{Disabled: true}, true, off},
		{"threshold", client, Options{Threshold: 1}, true, with(func(o *Options) { o.Threshold = 1 })},
		{"step", client, Options{Step: 1}, true, with(func(o *Options) { o.Step = 1 })},
		{"hedges, more than the client's", client, Options{MaxHedges: 9}, true, with(func(o *Options) { o.MaxHedges = 9 })},
		{"negative is zero", client, Options{Threshold: -1, Step: -1, MaxHedges: -1}, true, client},
		{"writes can be added", client, Options{Writes: true}, true, writes},
		{"and not taken away", writes, Options{}, true, writes},
		{"in flight is the client's alone", client, Options{MaxInFlight: 1000}, true, client},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, tt.client.Merge(tt.request, tt.given))
		})
	}
}

func TestContext(t *testing.T) {
	ctx := t.Context()
	o, given := FromContext(ctx)
	assert.Equal(t, Options{}, o)
	assert.False(t, given)

	set := Options{Threshold: time.Second, MaxHedges: 1}
	o, given = FromContext(With(Off(ctx), set))
	assert.Equal(t, set, o, "the inner one replaces the outer one")
	assert.True(t, given)

	o, given = FromContext(Off(With(ctx, set)))
	assert.Equal(t, Options{Disabled: true}, o)
	assert.True(t, given)

	type other struct{}
	o, given = FromContext(context.WithValue(With(ctx, set), other{}, set))
	assert.Equal(t, set, o, "through other values")
	assert.True(t, given)
}
