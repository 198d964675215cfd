# Images of batcher (the last stage, and so the default) and of what
# docker-compose.yml needs besides. All of them hold static programs and nothing
# else; each runs as a user without rights.

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=container
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=${VERSION}" -o /out/ ./cmd/batcher ./localdev/cmd/demo \
 && mkdir /out/empty

# MinIO publishes no images any more, so its server is built from its sources.
FROM golang:1.26 AS minio-build
RUN CGO_ENABLED=0 GOBIN=/out go install -trimpath -ldflags "-s -w" github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c

FROM scratch AS minio
COPY --from=minio-build /out/minio /minio
COPY --from=build /out/demo /demo
# A new volume takes over the owner of the folder that it covers.
COPY --from=build --chown=65532:65532 /out/empty /data
USER 65532:65532
ENTRYPOINT ["/minio"]

# Seeds, and has batcher with the pipeline file of the demonstration.
FROM scratch AS demo
COPY --from=build /out/demo /out/batcher /
COPY docker/pipeline.yaml /etc/batcher/pipeline.yaml
USER 65532:65532
ENTRYPOINT ["/demo"]

FROM scratch AS batcher
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/batcher /batcher
USER 65532:65532
ENTRYPOINT ["/batcher"]
