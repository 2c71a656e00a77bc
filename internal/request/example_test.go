package request_test

import (
	"fmt"
	"net/http"

	"github.com/azcosmos-ha/azcosmos-ha/internal/request"
)

func ExampleClassify() {
	header := http.Header{}
	header.Set("x-ms-documentdb-is-upsert", "true")
	header.Set("x-ms-documentdb-partitionkey", `["tenant-1"]`)
	info := request.Classify(http.MethodPost, "/dbs/shop/colls/orders%2F2026/docs", header)

	fmt.Println(info.Resource, info.Operation, info.Write(), info.Name())
	fmt.Println(info.ContainerLink, info.ContainerName(), info.PartitionKey)
	// Output:
	// Document Upsert true upsert_item
	// dbs/shop/colls/orders%2F2026 orders/2026 ["tenant-1"]
}

func ExampleParsePartitionKey() {
	var buf [4]request.Component
	key, err := request.ParsePartitionKey(`["tenant-1",42,null]`, buf[:0])
	fmt.Println(key, err)

	_, err = request.ParsePartitionKey(`["tenant-1",`, buf[:0])
	fmt.Println(err)
	// Output:
	// [{String 0 tenant-1} {Number 42 } {Null 0 }] <nil>
	// partition key header: not a value at byte 12
}
