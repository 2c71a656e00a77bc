package main

import (
	"bytes"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/azcosmos-ha/azcosmos-ha/integration/gateway"
)

func TestDefaults(t *testing.T) {
	t.Setenv("COSMOS_EMULATOR_KEY", "")
	s, err := parse(nil)
	require.NoError(t, err)
	require.Equal(t, settings{
		regions:   []string{"North Central US", "West US", "Central US"},
		preferred: []string{"West US", "Central US", "North Central US"},
		faults:    []fault{{"refuse", "West US"}, {"503", "West US"}, {"hang", "West US"}},
		fresh:     true, rate: 100, reads: 0.8, seed: 1,
		phase: 2500 * time.Millisecond, failoverAfter: 1250 * time.Millisecond, slow: time.Second,
		timeout: 3 * time.Second, attemptTimeout: 500 * time.Millisecond,
		protocol: gateway.TLSHTTP2, key: gateway.EmulatorKey, plain: true,
	}, s)
}

func TestFlags(t *testing.T) {
	t.Setenv("COSMOS_EMULATOR_KEY", "a2V5")
	cases := []struct {
		name string
		args []string
		want func(*testing.T, settings)
	}{
		{"multi-write prefers the first region", []string{"-multi-write"}, func(t *testing.T, s settings) {
			require.Equal(t, s.regions, s.preferred)
			require.Equal(t, "North Central US", s.faults[0].region)
		}},
		{"no preference", []string{"-preferred", "none"}, func(t *testing.T, s settings) {
			require.Empty(t, s.preferred)
			require.Equal(t, "North Central US", s.faults[0].region)
		}},
		{"names in any spelling", []string{"-preferred", "centralus, west-us", "-faults", "slow@northcentralus, reset"}, func(t *testing.T, s settings) {
			require.Equal(t, []string{"Central US", "West US"}, s.preferred)
			require.Equal(t, []fault{{"slow", "North Central US"}, {"reset", "Central US"}}, s.faults)
		}},
		{"one region", []string{"-regions", "X"}, func(t *testing.T, s settings) {
			require.Equal(t, []string{"X"}, s.preferred)
		}},
		{"no faults", []string{"-faults", ""}, func(t *testing.T, s settings) { require.Empty(t, s.faults) }},
		{"failover follows the phase", []string{"-phase", "10s"}, func(t *testing.T, s settings) {
			require.Equal(t, 5*time.Second, s.failoverAfter)
		}},
		{"failover at once", []string{"-failover-after", "0"}, func(t *testing.T, s settings) { require.Zero(t, s.failoverAfter) }},
		{"attempts unbounded", []string{"-attempt-timeout", "0"}, func(t *testing.T, s settings) { require.Zero(t, s.attemptTimeout) }},
		{"endpoint", []string{"-endpoint", "http://localhost:8081"}, func(t *testing.T, s settings) {
			require.Equal(t, "http://localhost:8081/", s.endpoint)
			require.Equal(t, "a2V5", s.key)
		}},
		{"preferred of an account that is not known yet", []string{"-endpoint", "https://a.documents.azure.com:443/", "-preferred", "East Asia"}, func(t *testing.T, s settings) {
			require.Equal(t, []string{"East Asia"}, s.preferred)
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, err := parse(c.args)
			require.NoError(t, err)
			c.want(t, s)
		})
	}
}

// TestBadFlags: one line that names the flag and the value, and status 2. Keys are not shown.
func TestBadFlags(t *testing.T) {
	account := "North Central US, West US, Central US"
	cases := []struct {
		args []string
		want string
	}{
		{[]string{"-rate", "0"}, `-rate "0": must be from 1 to 2000`},
		{[]string{"-rate", "2001"}, `-rate "2001": must be from 1 to 2000`},
		{[]string{"-rate", "many"}, `invalid value "many" for flag -rate: parse error`},
		{[]string{"-reads", "1.5"}, `-reads "1.5": must be from 0 to 1`},
		{[]string{"-reads", "NaN"}, `-reads "NaN": must be from 0 to 1`},
		{[]string{"-phase", "-1s"}, `-phase "-1s": must be at least 1ms`},
		{[]string{"-failover-after", "-1s"}, `-failover-after "-1s": must be at least 0s`},
		{[]string{"-slow", "-1s"}, `-slow "-1s": must be at least 0s`},
		{[]string{"-timeout", "0"}, `-timeout "0s": must be at least 1ms`},
		{[]string{"-attempt-timeout", "-1ns"}, `-attempt-timeout "-1ns": must be at least 0s`},
		{[]string{"-protocol", "h3"}, `-protocol "h3": must be http1 or h2`},
		{[]string{"-regions", "West US,,East US"}, `-regions "West US,,East US": must be names of regions, separated by commas`},
		{[]string{"-regions", "West US,westus"}, `-regions "West US,westus": names westus twice`},
		{[]string{"-preferred", "Mars"}, `-preferred "Mars": is none of the account's regions: ` + account},
		{[]string{"-faults", "refuse,melt"}, `-faults "melt": is none of refuse, 503, hang, slow, reset, stream`},
		{[]string{"-faults", "hang@Mars"}, `-faults "hang@Mars": is in none of the account's regions: ` + account},
		{[]string{"-endpoint", "localhost:8081"}, `-endpoint "localhost:8081": must be http:// or https:// with a host, and nothing else`},
		{[]string{"-key", "a2V5"}, `-key: there is no -endpoint`},
		{[]string{"-endpoint", "http://x", "-key", "no base64"}, `-key: is not base64`},
		{[]string{"-nonsense"}, `flag provided but not defined: -nonsense`},
		{[]string{"more"}, `unexpected argument "more"`},
	}
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, 2, run(c.args, &stdout, &stderr))
			require.Equal(t, "drill: "+c.want+"\n", stderr.String())
			require.Empty(t, stdout.String())
		})
	}
}

func TestHelp(t *testing.T) {
	_, err := parse([]string{"-h"})
	require.ErrorIs(t, err, flag.ErrHelp)
	var stdout, stderr bytes.Buffer
	require.Equal(t, 0, run([]string{"-h"}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "-failover-after duration")
	require.Empty(t, stderr.String())
}
