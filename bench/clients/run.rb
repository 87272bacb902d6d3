# Runs Debian's Sidekiq, unmodified, against a server:
#
#	ruby run.rb PORT
#
# The exit status is 0 only if all passed.
require "sidekiq"
require "sidekiq/api"
require "tmpdir"

port = Integer(ARGV[0])
url = "redis://127.0.0.1:#{port}/4"
Sidekiq.configure_client { |config| config.redis = { url: url } }

Dir.mktmpdir do |dir|
  File.write("#{dir}/jobs.rb", <<~RUBY)
    require "sidekiq"
    Sidekiq.configure_server { |config| config.redis = { url: "#{url}" } }
    class Count
      include Sidekiq::Worker
      def perform(n) = Sidekiq.redis { |r| r.call("INCRBY", "sum", n) rescue r.incrby("sum", n) }
    end
    class Flaky
      include Sidekiq::Worker
      sidekiq_options retry: 3
      def perform = raise("as it should")
    end
  RUBY
  require "#{dir}/jobs.rb"
  20.times { |n| Count.perform_async(n) }
  Count.perform_in(1, 100)
  Flaky.perform_async
  server = spawn("sidekiq", "-r", "#{dir}/jobs.rb", "-c", "3", out: File::NULL, err: File::NULL)
  begin
    deadline = Time.now + 60
    sum = -> { Sidekiq.redis { |r| r.get("sum") }.to_i }
    sleep 0.2 until (sum.call == 290 && Sidekiq::RetrySet.new.size == 1) || Time.now > deadline
    abort "FAIL sidekiq: the sum is #{sum.call}" unless sum.call == 290
    abort "FAIL sidekiq: #{Sidekiq::RetrySet.new.size} jobs wait to be tried again" unless Sidekiq::RetrySet.new.size == 1
    abort "FAIL sidekiq: #{Sidekiq::Stats.new.processed} jobs" unless Sidekiq::Stats.new.processed >= 21
  ensure
    Process.kill("TERM", server)
    Process.wait(server)
  end
end
puts "ok   sidekiq #{Sidekiq::VERSION}"
