// rival_go PORT: the text and the JSON of lib_app with net/http.
package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
)

type user struct {
	ID     uint64   `json:"id"`
	Name   string   `json:"name"`
	Email  string   `json:"email"`
	Age    int      `json:"age"`
	Active bool     `json:"active"`
	Score  float64  `json:"score"`
	City   string   `json:"city"`
	Tags   []string `json:"tags"`
	Note   *string  `json:"note"`
	Visits int64    `json:"visits"`
}

func ada() user {
	note := "writes programs"
	return user{1234567, "Ada Lovelace", "ada@example.org", 36, true, 97.25, "London W1K",
		[]string{"mathematics", "poetry"}, &note, 128000}
}

func answer(w http.ResponseWriter, one user) {
	text, err := json.Marshal(one)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(text)
}

func main() {
	http.HandleFunc("/hello.txt", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello\n")
	})
	http.HandleFunc("/user.json", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			answer(w, ada())
			return
		}
		var one user
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer(w, one)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
