package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/azcosmos-ha/azcosmos-ha/regions"
)

// errNoAccount says what is at an endpoint, or rather what is not.
var errNoAccount = errors.New("no Cosmos DB account answers there")

// newClient is an HTTP client for an emulator or account, with azcosmos's own limits. On a loopback address no certificate is
// checked: emulators sign their own.
func newClient(endpoint string) *http.Client {
	d := net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{
		Timeout: 65 * time.Second,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: d.DialContext, ForceAttemptHTTP2: true,
			MaxIdleConns: 1000, MaxIdleConnsPerHost: 100, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
			HTTP2:           &http.HTTP2Config{SendPingTimeout: 2 * time.Second, PingTimeout: time.Second},
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: loopback(hostOf(endpoint))},
		},
	}
}

func loopback(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap().IsLoopback()
	}
	return host == "localhost"
}

// readAccount asks an endpoint for its account. azcosmos has no way to.
func readAccount(ctx context.Context, client *http.Client, endpoint, key string) (regions.Account, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return regions.Account{}, err
	}
	date := strings.ToLower(time.Now().UTC().Format(http.TimeFormat))
	request.Header.Set("x-ms-date", date)
	request.Header.Set("x-ms-version", "2020-11-05")
	request.Header.Set("Authorization", sign(key, date))
	response, err := client.Do(request)
	if err != nil {
		return regions.Account{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case err != nil:
		return regions.Account{}, err
	case response.StatusCode != http.StatusOK:
		return regions.Account{}, fmt.Errorf("%w: %s", errNoAccount, response.Status)
	}
	account, err := regions.ParseAccount(body)
	if err != nil {
		return regions.Account{}, fmt.Errorf("%w: %w", errNoAccount, err)
	}
	return account, nil
}

// sign is the master key's authorization for an account read. The flags have seen to it that the key is base64.
func sign(key, date string) string {
	secret, _ := base64.StdEncoding.DecodeString(key)
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "get\n\n\n%s\n\n", date)
	return url.QueryEscape("type=master&ver=1.0&sig=" + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
