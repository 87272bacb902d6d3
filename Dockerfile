# Reminis in a container: one static binary, no shell, not root.
#
#   docker build -t reminis .
#   docker run -d --name memory -p 127.0.0.1:6379:6379 -v memory:/data reminis \
#       --bind 0.0.0.0 --dir /data --requirepass "$PASSWORD"
#
# Without a password the server refuses every client that does not come from
# within the container (protected-mode, as in Redis), because a published port is
# reachable from everywhere that the host is: Docker opens it past the host's
# firewall. Where the network itself is private, say so:
#
#   docker run -d --network private -v memory:/data reminis \
#       --bind 0.0.0.0 --dir /data --protected-mode no
#
# Arguments replace the defaults below as a whole, as with any other program; a
# configuration file comes first:
#
#   docker run -d -v ./redis.conf:/etc/redis.conf:ro -v memory:/data reminis \
#       /etc/redis.conf --bind 0.0.0.0 --dir /data

FROM golang:1.26-bookworm AS build
WORKDIR /src
# The modules first: they change less often than the code.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/reminis ./cmd/reminis \
 && mkdir /out/data

FROM scratch
COPY --from=build /out/reminis /reminis
# The volume takes over the owner that the directory has in the image.
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
VOLUME /data
WORKDIR /data
EXPOSE 6379
STOPSIGNAL SIGTERM
# There is no shell and no redis-cli here; the binary asks itself. Loading a large
# store takes longer than the first checks, hence the start period.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 CMD ["/reminis", "ping"]
ENTRYPOINT ["/reminis"]
CMD ["--bind", "0.0.0.0", "--dir", "/data"]
