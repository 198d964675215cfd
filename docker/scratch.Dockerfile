# The images of ../Dockerfile from programs that were built outside, for places
# that have a Docker engine but no registry. test.sh lays out the folder.

FROM scratch AS minio
COPY minio /minio
COPY demo /demo
COPY --chown=65532:65532 empty /data
USER 65532:65532
ENTRYPOINT ["/minio"]

FROM scratch AS demo
COPY demo batcher /
COPY pipeline.yaml /etc/batcher/pipeline.yaml
USER 65532:65532
ENTRYPOINT ["/demo"]

FROM scratch AS batcher
COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY batcher /batcher
USER 65532:65532
ENTRYPOINT ["/batcher"]
