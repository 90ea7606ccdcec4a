// Fetches URLs as any Go program would, and says what came: one line each, in order, of protocol,
// status, SHA-256 and URL.
//
//	go_client AUTHORITY.pem PARALLEL < urls
package main

import (
	"bufio"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

func fetch(client *http.Client, url string) string {
	answer, err := client.Get(url)
	if err != nil {
		return "failed: " + err.Error()
	}
	defer answer.Body.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, answer.Body); err != nil {
		return "cut: " + err.Error()
	}
	return fmt.Sprintf("%s %d %x %s", answer.Proto, answer.StatusCode, digest.Sum(nil), url)
}

func main() {
	authority, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	parallel, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	client := &http.Client{
		Timeout: time.Minute,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots},
			ForceAttemptHTTP2: true,
		},
	}
	var urls []string
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		urls = append(urls, lines.Text())
	}
	told := make([]string, len(urls))
	var group sync.WaitGroup
	for first := 0; first < parallel; first++ {
		group.Add(1)
		go func(at int) {
			defer group.Done()
			for ; at < len(urls); at += parallel {
				told[at] = fetch(client, urls[at])
			}
		}(first)
	}
	group.Wait()
	for _, line := range told {
		fmt.Println(line)
	}
}
