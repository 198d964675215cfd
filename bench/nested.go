package bench

import "strconv"

var acts = []string{"PushEvent", "PullRequestEvent", "IssuesEvent", "IssueCommentEvent", "WatchEvent", "CreateEvent", "ForkEvent"}

// nested appends an event of a code forge.
func (d *draw) nested(b []byte, n int64) []byte {
	act, repo := d.favorite(acts), strconv.Itoa(d.skewed(500_000))
	b = str(append(b, '{'), "id", strconv.FormatInt(48_000_000_000+7*n, 10))
	b = str(b, "type", act)
	b = d.user(b, "actor")
	b = append(key(b, "repo"), '{')
	b = append(append(key(b, "id"), repo...), `,"name":"org`+repo+`/repo`+repo+`"`...)
	b = append(str(b, "url", "https://api.github.com/repos/org"+repo+"/repo"+repo), '}')
	b = append(key(b, "payload"), '{')
	switch act {
	case "PushEvent":
		b = d.push(b, n, repo)
	case "PullRequestEvent", "IssuesEvent", "IssueCommentEvent":
		b = d.issue(b, n, repo)
	case "CreateEvent":
		b = append(b, `"ref":"v1.2.3","ref_type":"tag","master_branch":"main","description":"`...)
		b = append(d.text(b, 20), `","pusher_type":"user"`...)
	default:
		b = append(b, `"action":"started"`...)
	}
	b = append(b, `},"public":true`...)
	b = str(b, "created_at", d.at.Format("2006-01-02T15:04:05Z"))
	if d.IntN(3) == 0 {
		b = d.user(b, "org")
	}
	return append(b, '}')
}

// user appends an account under a key.
func (d *draw) user(b []byte, name string) []byte {
	id := strconv.Itoa(d.skewed(3_000_000))
	b = append(key(b, name), `{"id":`+id+`,"login":"user`+id+`","display_login":"user`+id+`","gravatar_id":""`...)
	b = str(b, "url", "https://api.github.com/users/user"+id)
	return append(str(b, "avatar_url", "https://avatars.githubusercontent.com/u/"+id+"?"), '}')
}

// push appends the members of a payload with commits.
func (d *draw) push(b []byte, n int64, repo string) []byte {
	count := 1 + d.skewed(7)
	b = append(append(b, `"repository_id":`...), repo...)
	b = num(b, "push_id", 21_000_000_000+3*n)
	b = num(num(b, "size", int64(count)), "distinct_size", int64(count))
	b = append(str(b, "ref", "refs/heads/main"), `,"head":"`...)
	b = append(d.hex(b, 40), `","before":"`...)
	b = append(d.hex(b, 40), `","commits":[`...)
	for k := range count {
		if k > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"sha":"`...)
		b = d.hex(b, 40)
		sha := string(b[len(b)-40:])
		b = append(b, `","author":{"email":"user`+repo+`@users.noreply.github.com","name":"User Name `+repo+`"},"message":"`...)
		b = append(d.text(b, 5+d.IntN(60)), `","distinct":true`...)
		b = append(str(b, "url", "https://api.github.com/repos/org"+repo+"/repo"+repo+"/commits/"+sha), '}')
	}
	return append(b, ']')
}

// issue appends the members of a payload with an issue.
func (d *draw) issue(b []byte, n int64, repo string) []byte {
	number := strconv.Itoa(d.IntN(5000))
	b = append(b, `"action":"opened","number":`+number+`,"issue":{`...)
	b = num(b, "id", 2_100_000_000+n)
	b = str(b, "url", "https://api.github.com/repos/org"+repo+"/repo"+repo+"/issues/"+number)
	b = append(key(b, "title"), '"')
	b = append(d.text(b, 8), '"')
	b = append(key(d.user(b, "user"), "labels"), '[')
	for k := range d.IntN(4) {
		if k > 0 {
			b = append(b, ',')
		}
		b = num(append(b, '{'), "id", int64(d.IntN(1000)))
		b = str(str(b, "name", d.pick(words[:plainWords])), "color", "d73a4a")
		b = append(strconv.AppendBool(key(b, "default"), k == 0), '}')
	}
	b = append(b, `],"state":"open","locked":false`...)
	b = num(b, "comments", int64(d.IntN(20)))
	b = str(b, "created_at", d.at.Format("2006-01-02T15:04:05Z"))
	b = strconv.AppendFloat(append(b, `,"closed_at":null,"score":`...), d.Float64()*100, 'f', 3, 64)
	b = append(append(d.text(append(key(b, "body"), '"'), 40+d.IntN(200)), '"'), '}')
	return b
}
